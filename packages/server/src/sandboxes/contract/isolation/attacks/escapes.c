/*
 * Escapes: leave the tree of one's execution, so that `kill` would miss a process.
 *
 * Each takes a MARKER, which stays in the command line of everything it starts: the host looks for it afterwards.
 * Each says "held: out" once the escape is complete; whether it helped is decided by `kill`.
 */
#include "attack.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void ignore_signals(void) {
  for (int number = 1; number < 64; number++) signal(number, SIG_IGN);
  signal(SIGCHLD, SIG_DFL);
}

static void stay(void) {
  for (;;) pause();
}

/* Runs `body` in a grandchild of its own session whose parent is gone, and returns once that is so. */
static int let_out(void (*body)(void)) {
  int ready[2];
  if (pipe(ready) < 0) return unable("pipe: %s", strerror(errno));
  fflush(stdout);
  pid_t child = fork();
  if (child < 0) return unable("fork: %s", strerror(errno));
  if (child == 0) {
    ignore_signals();
    setsid();
    pid_t grandchild = fork();
    if (grandchild != 0) _exit(grandchild < 0 ? 1 : 0);
    setpgid(0, 0);
    if (write(ready[1], "!", 1) != 1) _exit(1);
    close(ready[0]), close(ready[1]);
    body();
    _exit(0);
  }
  char sign;
  close(ready[1]);
  waitpid(child, NULL, 0);
  if (read(ready[0], &sign, 1) != 1) return unable("the escapee never came to life");
  return held("out");
}

/* escape MARKER leave|stay: `leave` ends the main process, so that only the escapee lives on. */
static int escape(int count, char **arguments) {
  (void)count;
  int result = let_out(stay);
  if (result == EXIT_HELD && strcmp(arguments[1], "stay") == 0) stay();
  return result;
}

/* A process that is never where it was: each generation forks the next and dies. */
static void run_on(void) {
  for (;;) {
    pid_t next = fork();
    if (next < 0) continue;
    if (next > 0) _exit(0);
    setsid();
  }
}

static int breed(int count, char **arguments) {
  (void)count, (void)arguments;
  int result = let_out(run_on);
  if (result == EXIT_HELD) stay();
  return result;
}

/* A child of one's own parent: it was never below the main process. */
static int escape_as_sibling(int count, char **arguments) {
  (void)count, (void)arguments;
  long sibling = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL);
  if (sibling < 0) return held("out"); /* refused: no escape, and nothing to find */
  if (sibling == 0) {
    ignore_signals();
    setsid();
    stay();
  }
  held("out");
  stay();
  return EXIT_HELD;
}

/* A process that adopts its orphans itself and hides from /proc readers of its own user. */
static void adopt(void) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_DUMPABLE, 0);
  for (int index = 0; index < 3; index++) {
    if (fork() == 0) {
      setsid();
      if (fork() == 0) stay();
      _exit(0);
    }
  }
  stay();
}

static int escape_with_family(int count, char **arguments) {
  (void)count, (void)arguments;
  int result = let_out(adopt);
  if (result == EXIT_HELD) stay();
  return result;
}

/* Three hundred orphans that end at once: whoever inherits them must collect them. */
static int leave_orphans(int count, char **arguments) {
  (void)count, (void)arguments;
  for (int index = 0; index < 300; index++) {
    pid_t child = fork();
    if (child < 0) return unable("fork %d: %s", index, strerror(errno));
    if (child == 0) {
      fork();
      _exit(0);
    }
    waitpid(child, NULL, 0);
  }
  return held("300 orphans");
}

const struct attack ESCAPE_ATTACKS[] = {
    {"escape", escape, 2},
    {"breed", breed, 1},
    {"escape-as-sibling", escape_as_sibling, 1},
    {"escape-with-family", escape_with_family, 1},
    {"leave-orphans", leave_orphans, 0},
    {NULL, NULL, 0},
};
