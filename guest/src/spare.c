/*
 * Supervisors: a fork of the guest each, or the spare, which is one that has outlived its tree.
 *
 * A command that follows another then waits for no fork, and nobody for the end of a process. The spare goes when no command
 * came for a while, so that an idle sandbox pays for none. Where programs run as the guest's own user there is none at
 * all: they could stop it or slow it down, and so reach the command that comes next.
 */
#include "guest.h"
#include "handover.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#define KEEP_US 2000000

static struct { pid_t pid; int control; int64_t until_us; } spare;

static pid_t fork_supervisor(const struct program *program, int *control) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return -1;
  pid_t pid = fork();
  if (pid == 0) {
    connections_wipe();
    supervise(program, pair[1], defaults.self_fd);
  }
  int error = errno;
  close(pair[1]);
  if (pid < 0) close(pair[0]);
  *control = pair[0];
  errno = error;
  return pid;
}

pid_t supervisor_take(const struct program *program, int *control) {
  pid_t pid = spare.pid;
  if (!pid || !handover_send(spare.control, program)) return fork_supervisor(program, control);
  *control = spare.control;
  spare.pid = 0;
  return pid;
}

bool supervisor_keep(pid_t pid, int control) {
  bool is_out_of_reach = defaults.first_user || defaults.uid != geteuid();
  if (!is_out_of_reach || spare.pid) return false;
  spare.pid = pid;
  spare.control = control;
  spare.until_us = now_us() + KEEP_US;
  return true;
}

bool spare_is(pid_t pid) { return spare.pid == pid; }

/* A supervisor without a tree ends when nobody can give it a program. */
void spare_drop(void) {
  close(spare.control);
  spare.pid = 0;
}

int64_t spare_tick(int64_t now) {
  if (spare.pid && spare.until_us <= now) spare_drop();
  return spare.pid ? spare.until_us : 0;
}
