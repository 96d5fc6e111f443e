/* See jail.h. */
#define _GNU_SOURCE
#include "jail.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cgroup.h"
#include "complaint.h"
#include "report.h"

enum { START_TIMEOUT_MS = 20000 };

void complain(const char *what) {
  dprintf(STDERR_FILENO, "%s: %s\n", what, strerror(errno));
  _exit(126);
}

void become_clean(int complaint) {
  int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nothing < 0) complain("cannot open /dev/null");
  inherit_as(nothing, STDIN_FILENO);
  inherit_as(nothing, STDOUT_FILENO);
  inherit_as(complaint, STDERR_FILENO);
  signal(SIGPIPE, SIG_DFL);
  umask(022);
  if (setsid() < 0) complain("cannot start a session");
}

void become_jail_user(const struct plan *plan) {
  if (!plan->has_jail_user) return;
  if (setgroups(0, NULL) != 0) complain("cannot drop the groups");
  if (setresgid(plan->jail_user, plan->jail_user, plan->jail_user) != 0) complain("cannot change the group");
  if (setresuid(plan->jail_user, plan->jail_user, plan->jail_user) != 0) complain("cannot change the user");
}

/* A sandbox never outlives the host's own services when memory runs out, however protected the server itself is. */
static void offer_to_oom_killer(void) {
  int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  if (write(file, "100", 3) != 3) complain("cannot set oom_score_adj");
  close(file);
}

static void limit_resources(const struct plan *plan) {
  const struct rlimit no_core = {0, 0};
  if (setrlimit(RLIMIT_CORE, &no_core) != 0) complain("cannot forbid core files");
  if (plan->open_files == 0) return;
  const struct rlimit files = {plan->open_files, plan->open_files};
  if (setrlimit(RLIMIT_NOFILE, &files) != 0) complain("cannot limit open files");
}

__attribute__((noreturn)) static void run(const struct jail *jail, const struct plan *plan, const struct staged *staged, int listener) {
  char *environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", NULL};
  char byte;
  /* An end of file means that the launcher died before this process was on record; our own end would hide it. */
  close(jail->go.write);
  if (read(jail->go.read, &byte, 1) != 1) _exit(125);
  become_clean(jail->complaint);
  offer_to_oom_killer();
  inherit_as(listener, FD_LISTEN);
  if (plan->init_discovery == INIT_BY_INFO_FD) inherit_as(jail->info.write, FD_INFO);
  if (plan->id_map != NULL) inherit_as(jail->userns_block.read, FD_USERNS_BLOCK);
  if (plan->network_program != NULL) inherit_as(jail->status.write, FD_STATUS);
  if (plan->staging == STAGE_NOT) {
    for (size_t i = 0; i < plan->source_count; i++) inherit_as(staged->descriptors[i], FD_FIRST_SOURCE + (int)i);
  }
  limit_resources(plan);
  become_jail_user(plan);
  execve(plan->jail_argv[0], plan->jail_argv, environment);
  complain(plan->jail_argv[0]);
}

void jail_fork(struct jail *jail, const struct plan *plan, const struct staged *staged, int listener) {
  *jail = (struct jail){
      .complaint = complaint_open(), .go = make_pipe(), .info = make_pipe(), .userns_block = make_pipe(), .status = make_pipe()};
  /* What the child prints while it joins its cgroups is part of the complaint. */
  inherit_as(jail->complaint, STDERR_FILENO);
  jail->monitor = cgroups_fork(plan);
  if (jail->monitor == 0) run(jail, plan, staged, listener);
  close(jail->go.read);
  close(jail->info.write);
  close(jail->userns_block.read);
  close(jail->status.write);
}

void jail_release(struct jail *jail) {
  if (write(jail->go.write, "g", 1) != 1) jail_fail(jail, "start");
  close(jail->go.write);
}

pid_t jail_read_init(struct jail *jail) {
  char text[4096];
  size_t length = 0;
  for (;;) {
    struct pollfd wait = {.fd = jail->info.read, .events = POLLIN};
    if (poll(&wait, 1, START_TIMEOUT_MS) != 1) fail("start", "the jail did not report its first process within %d ms", START_TIMEOUT_MS);
    ssize_t count = read(jail->info.read, text + length, sizeof text - 1 - length);
    if (count <= 0) jail_fail(jail, "start");
    length += (size_t)count;
    text[length] = '\0';
    const char *field = strstr(text, "\"child-pid\":");
    if (field != NULL && strpbrk(field, ",}\n") != NULL) return (pid_t)strtol(field + strlen("\"child-pid\":"), NULL, 10);
    if (length == sizeof text - 1) fail("start", "the jail's report has no child-pid");
  }
}

static void write_map(const char *which, pid_t init, const char *map, const struct jail *jail) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", (int)init, which);
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) jail_fail(jail, "user namespace");
  if (write(file, map, strlen(map)) < 0) fail("user namespace", "cannot write %s: %s", which, strerror(errno));
  close(file);
}

void jail_map_ids(struct jail *jail, pid_t init, const char *map) {
  write_map("uid_map", init, map, jail);
  write_map("gid_map", init, map, jail);
  if (write(jail->userns_block.write, "g", 1) != 1) jail_fail(jail, "user namespace");
}

void jail_fail(const struct jail *jail, const char *stage) {
  char complaint[COMPLAINT_BYTES + 1];
  int status = 0;
  struct timespec pause = {.tv_nsec = 1000000};
  /* It has closed its descriptors, so it is about to end; its last words are complete once it has. */
  pid_t ended = 0;
  for (int waited_ms = 0; ended == 0 && waited_ms < 1000; waited_ms++) {
    ended = waitpid(jail->monitor, &status, WNOHANG);
    if (ended == 0) nanosleep(&pause, NULL);
  }
  complaint_read(jail->complaint, complaint);
  if (complaint[0] != '\0') fail(stage, "%s", complaint);
  if (ended == jail->monitor && WIFSIGNALED(status)) fail(stage, "the jail was killed by signal %d", WTERMSIG(status));
  if (ended == jail->monitor) fail(stage, "the jail ended with status %d and said nothing", WEXITSTATUS(status));
  fail(stage, "the guest inside does not answer");
}
