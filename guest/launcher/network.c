/* See network.h. */
#define _GNU_SOURCE
#include "network.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroup.h"
#include "complaint.h"
#include "descriptor.h"
#include "report.h"

enum { FD_EXIT = 3, FD_READY = 4, FD_NETWORK = 5, READY_TIMEOUT_MS = 20000 };

static bool is_same(int one, int other) {
  struct stat first, second;
  return fstat(one, &first) == 0 && fstat(other, &second) == 0 && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

static int open_namespace(pid_t init, const char *kind) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/ns/%s", (int)init, kind);
  int opened = open(path, O_RDONLY | O_CLOEXEC);
  if (opened < 0) complain(path);
  return raise_descriptor(opened);
}

/*
 * The helper enters the user namespace of the first process, which then has to own the network namespace. Bubblewrap without root makes
 * its namespaces in one user namespace and the first process enters another below it, which has no rights over them. There we enter
 * the owner, of which we are root, and the helper is given the network namespace alone.
 */
static bool enter_owner(pid_t init) {
  int network = open_namespace(init, "net");
  int owner = ioctl(network, NS_GET_USERNS);
  if (owner < 0) complain("cannot find the user namespace of the network");
  owner = raise_descriptor(owner);
  if (is_same(owner, open_namespace(init, "user"))) return false;
  if (setns(owner, CLONE_NEWUSER) != 0) complain("cannot enter the user namespace of the network");
  inherit_as(network, FD_NETWORK);
  return true;
}

__attribute__((noreturn)) static void run(const struct network *network, const struct plan *plan, const struct jail *jail, pid_t init) {
  char pid[16];
  char *program = strdup(plan->network_program);
  snprintf(pid, sizeof pid, "%d", (int)init);
  char *environment[] = {"PATH=/usr/bin:/bin", "LC_ALL=C", NULL};
  become_clean(network->complaint);
  inherit_as(jail->status.read, FD_EXIT);
  inherit_as(network->ready.write, FD_READY);
  become_jail_user(plan);
  bool is_inside = enter_owner(init);
  char *arguments[] = {program,
                       "--configure",
                       "--mtu=65520",
                       "--disable-host-loopback",
                       "--enable-sandbox",
                       "--enable-seccomp",
                       "--exit-fd=3",
                       "--ready-fd=4",
                       is_inside ? "--netns-type=path" : "--netns-type=pid",
                       is_inside ? "/proc/self/fd/5" : pid,
                       "tap0",
                       NULL};
  execve(program, arguments, environment);
  complain(program);
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
