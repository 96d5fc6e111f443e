/* See held-namespace.h. */
#define _GNU_SOURCE
#include "held-namespace.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "descriptor.h"
#include "report.h"

int held_namespace_open(const char *what, void (*write_maps)(pid_t holder, const void *context), const void *context) {
  char path[64], byte;
  struct pipe_ends over = make_pipe();
  pid_t holder = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
  if (holder < 0) fail(what, "cannot make a user namespace: %s", strerror(errno));
  if (holder == 0) {
    /* Ends with the launcher too, whatever ends that. */
    close(over.write);
    _exit(read(over.read, &byte, 1) == 0 ? 0 : 1);
  }
  write_maps(holder, context);
  snprintf(path, sizeof path, "/proc/%d/ns/user", (int)holder);
  int namespace = open(path, O_RDONLY | O_CLOEXEC);
  if (namespace < 0) fail(what, "cannot open %s: %s", path, strerror(errno));
  close(over.read);
  close(over.write);
  waitpid(holder, NULL, 0);
  return raise_descriptor(namespace);
}
