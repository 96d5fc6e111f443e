/* Processes: see or touch the host's processes and the guest itself. */
#include "attack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

/* find-process MARKER: looks for the marker in the command line of every process that is not this one. */
static int find_process(int count, char **arguments) {
  (void)count;
  DIR *proc = opendir("/proc");
  if (proc == NULL) return unable("/proc: %s", strerror(errno));
  int seen = 0;
  for (struct dirent *entry; (entry = readdir(proc)) != NULL;) {
    int pid = atoi(entry->d_name);
    if (pid <= 0 || pid == getpid()) continue;
    seen++;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
    int opened = open(path, O_RDONLY | O_CLOEXEC);
    if (opened < 0) continue;
    bool found = file_contains(opened, arguments[0]);
    close(opened);
    if (found) return broken("process %d of the host is visible", pid);
  }
  closedir(proc);
  return held("%d processes, none of the host's", seen);
}

/* signal-process PID: kills it; the host checks that its own process of that number lives on. */
static int signal_process(int count, char **arguments) {
  (void)count;
  if (kill(atoi(arguments[0]), SIGKILL) < 0) return held("%s", strerror(errno));
  return broken("process %s took SIGKILL", arguments[0]);
}

/* Every signal there is, to the guest. Whether it lives is seen by its answers. */
static int signal_guest(int count, char **arguments) {
  (void)count, (void)arguments;
  int delivered = 0;
  for (int number = 1; number <= 64; number++) {
    if (kill(1, number) == 0) delivered++;
  }
  return held("%d of 64 signals were accepted", delivered);
}

static int open_of_guest(const char *name) {
  char path[64];
  snprintf(path, sizeof path, "/proc/1/%s", name);
  struct stat status;
  if (lstat(path, &status) == 0 && S_ISLNK(status.st_mode)) {
    char target[PATH_MAX];
    return expect_refusal(path, readlink(path, target, sizeof target));
  }
  if (lstat(path, &status) == 0 && S_ISDIR(status.st_mode)) return expect_refusal(path, open(path, O_RDONLY | O_DIRECTORY));
  int opened = open(path, O_RDONLY);
  if (opened < 0) return expect_refusal(path, -1);
  /* Some of these open for anybody and refuse, or give nothing, on reading. */
  char byte = 0;
  ssize_t size = read(opened, &byte, 1);
  return size > 0 ? broken("%s was read", path) : held("%s: %s", path, size == 0 ? "empty" : strerror(errno));
}

/* touch-guest WAY */
static int touch_guest(int count, char **arguments) {
  (void)count;
  const char *way = arguments[0];
  if (strcmp(way, "ptrace") == 0) return expect_refusal("attaching to the guest", ptrace(PTRACE_ATTACH, 1, NULL, NULL));
  if (strcmp(way, "seize") == 0) return expect_refusal("seizing the guest", ptrace(PTRACE_SEIZE, 1, NULL, NULL));
  if (strcmp(way, "prlimit") == 0) {
    struct rlimit none = {0, 0};
    return expect_refusal("taking the guest's descriptors", prlimit(1, RLIMIT_NOFILE, &none, NULL));
  }
  if (strcmp(way, "vm") == 0) {
    char byte = 0;
    struct iovec local = {&byte, 1}, remote = {(void *)0x400000, 1};
    return expect_refusal("reading the guest's memory", process_vm_readv(1, &local, 1, &remote, 1, 0));
  }
  if (strcmp(way, "descriptor") == 0) {
    int guest = (int)syscall(SYS_pidfd_open, 1, 0);
    if (guest < 0) return held("pidfd_open: %s", strerror(errno));
    return expect_refusal("taking a descriptor of the guest", syscall(SYS_pidfd_getfd, guest, 3, 0));
  }
  if (strcmp(way, "priority") == 0) return expect_refusal("slowing the guest", setpriority(PRIO_PROCESS, 1, 19));
  if (strcmp(way, "affinity") == 0) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    return expect_refusal("pinning the guest", sched_setaffinity(1, sizeof one, &one));
  }
  if (strcmp(way, "scheduler") == 0) {
    struct sched_param idle = {0};
    return expect_refusal("making the guest idle", sched_setscheduler(1, SCHED_IDLE, &idle));
  }
  /* Everything below goes through /proc, where root of a sandbox does not see the guest at all. */
  if (access("/proc/1", F_OK) != 0 && errno == ENOENT) return kill(1, 0) == 0 ? broken("the guest takes signals") : held("the guest is hidden");
  if (strcmp(way, "oom") == 0) return expect_refusal("offering the guest to the OOM killer", open("/proc/1/oom_score_adj", O_WRONLY));
  return open_of_guest(way);
}

/* Kills whatever may be killed. The caller's own process is spared by the kernel. */
static int kill_everything(int count, char **arguments) {
  (void)count, (void)arguments;
  int result = kill(-1, SIGKILL);
  return held("%s", result == 0 ? "some process was hit" : strerror(errno));
}

/* Kills every process but itself and the first one, one by one: above all the one that supervises this tree. */
static int kill_supervisors(int count, char **arguments) {
  (void)count, (void)arguments;
  int hit = kill(getppid(), SIGKILL) == 0 ? 1 : 0;
  DIR *proc = opendir("/proc");
  for (struct dirent *entry; proc != NULL && (entry = readdir(proc)) != NULL;) {
    int pid = atoi(entry->d_name);
    if (pid > 1 && pid != getpid() && kill(pid, SIGKILL) == 0) hit++;
  }
  held("%d hit", hit);
  pause();
  return EXIT_HELD;
}

const struct attack PROCESS_ATTACKS[] = {
    {"find-process", find_process, 1},       {"signal-process", signal_process, 1},
    {"signal-guest", signal_guest, 0},       {"touch-guest", touch_guest, 1},
    {"kill-everything", kill_everything, 0}, {"kill-supervisors", kill_supervisors, 0},
    {NULL, NULL, 0},
};
