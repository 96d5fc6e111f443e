/* See subordinate.h. */
#define _GNU_SOURCE
#include "subordinate.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "complaint.h"
#include "descriptor.h"
#include "held-namespace.h"
#include "report.h"

static const char WHAT[] = "subordinate ids";
/* The kernel takes at most 340 lines of three numbers. */
enum { MAX_NUMBERS = 340 * 3, FD_USERS = 3 };

/* newuidmap and newgidmap take the pid and the map's numbers as arguments. */
static void write_map(const char *program, pid_t holder, const char *map) {
  static char text[MAX_NUMBERS * 11 + 1];
  static char *arguments[MAX_NUMBERS + 3];
  char pid[16], words[COMPLAINT_BYTES + 1];
  char *environment[] = {"PATH=/usr/bin:/bin", "LC_ALL=C", NULL};
  size_t count = 0;
  int status, complaint = complaint_open();
  if (strlen(map) >= sizeof text) fail(WHAT, "the map is too long");
  strcpy(text, map);
  snprintf(pid, sizeof pid, "%d", (int)holder);
  arguments[count++] = strdup(program);
  arguments[count++] = pid;
  for (char *number = strtok(text, " "); number != NULL && count < MAX_NUMBERS + 2; number = strtok(NULL, " ")) arguments[count++] = number;
  arguments[count] = NULL;
  pid_t child = fork();
  if (child == 0) {
    inherit_as(complaint, STDOUT_FILENO);
    inherit_as(complaint, STDERR_FILENO);
    execve(program, arguments, environment);
    dprintf(STDERR_FILENO, "%s: %s\n", program, strerror(errno));
    _exit(126);
  }
  if (child < 0 || waitpid(child, &status, 0) != child) fail(WHAT, "cannot run %s: %s", program, strerror(errno));
  complaint_read(complaint, words);
  if (status != 0) fail(WHAT, "%s", words[0] == '\0' ? "the map was refused" : words);
  close(complaint);
}

/* `context`: NEWUIDMAP UID-MAP NEWGIDMAP GID-MAP. */
static void write_maps(pid_t holder, const void *context) {
  char *const *words = context;
  write_map(words[0], holder, words[1]);
  write_map(words[2], holder, words[3]);
}

void run_with_subordinate_ids(int argc, char **argv) {
  if (argc < 6) fail(WHAT, "two programs, two maps and a program to run are needed");
  int users = held_namespace_open(WHAT, write_maps, argv + 1);
  char *environment[] = {NULL};
  if (strcmp(argv[0], "beside") == 0) inherit_as(users, FD_USERS);
  else if (setns(users, CLONE_NEWUSER) != 0) fail(WHAT, "cannot enter the user namespace: %s", strerror(errno));
  signal(SIGPIPE, SIG_DFL);
  execve(argv[5], argv + 5, environment);
  fail(WHAT, "cannot run %s: %s", argv[5], strerror(errno));
}
