/* See network.h. */
#define _GNU_SOURCE
#include "network.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cgroup.h"
#include "complaint.h"
#include "report.h"

enum { FD_EXIT = 3, FD_READY = 4, READY_TIMEOUT_MS = 20000 };

__attribute__((noreturn)) static void run(const struct network *network, const struct plan *plan, const struct jail *jail, pid_t init) {
  char target[16];
  char *program = strdup(plan->network_program);
  snprintf(target, sizeof target, "%d", (int)init);
  char *arguments[] = {program,           "--configure",      "--mtu=65520", "--disable-host-loopback", "--enable-sandbox",
                       "--enable-seccomp", "--exit-fd=3", "--ready-fd=4", target, "tap0", NULL};
  char *environment[] = {"PATH=/usr/bin:/bin", "LC_ALL=C", NULL};
  become_clean(network->complaint);
  inherit_as(jail->status.read, FD_EXIT);
  inherit_as(network->ready.write, FD_READY);
  become_jail_user(plan);
  execve(program, arguments, environment);
  dprintf(STDERR_FILENO, "%s: %s\n", program, strerror(errno));
  _exit(126);
}

void network_start(struct network *network, const struct plan *plan, const struct jail *jail, pid_t init) {
  *network = (struct network){.complaint = complaint_open(), .ready = make_pipe()};
  network->helper = cgroups_fork(plan);
  if (network->helper == 0) run(network, plan, jail, init);
  close(network->ready.write);
}

void network_wait(const struct network *network) {
  char byte;
  char complaint[COMPLAINT_BYTES + 1];
  struct pollfd wait = {.fd = network->ready.read, .events = POLLIN};
  if (poll(&wait, 1, READY_TIMEOUT_MS) == 1 && read(network->ready.read, &byte, 1) == 1) return;
  complaint_read(network->complaint, complaint);
  fail("network", "the network helper did not come up: %s", complaint);
}
