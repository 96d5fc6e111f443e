/*
 * holdfast-launcher: starts one sandbox and leaves.
 *
 * The server spawns it once per sandbox (`packages/server/src/sandboxes/backends/jail/launch.ts`). It binds the
 * guest's socket, makes and joins the cgroups, stages the mount sources, starts bubblewrap or nsjail as nobody's
 * child, waits until the guest inside speaks, says so in one JSON line and ends. From then on the sandbox needs
 * neither the launcher nor the server.
 *
 * `holdfast-launcher hide-processes PID GROUP` does only that, to a container that an engine has started;
 * `holdfast-launcher try-hiding` does it to nobody, and reports whether it can.
 * `holdfast-launcher limit-terminals PID MOST` bounds the terminals of such a container;
 * `holdfast-launcher mount-in-container PID STARTTIME …` gives such a container mounts with owner maps (container-mounts.h);
 * `holdfast-launcher try-owner-map LINES PATH…` reports whether these paths can be mounted with an owner map;
 * `holdfast-launcher try-overlay LINES LOWER LAYER` reports whether LOWER can be the lower directory of an overlay with such a map.
 * `holdfast-launcher mount-container-root OWNERS LAYER TARGET LOWER…` mounts what container-root.h says;
 * `holdfast-launcher remove-container-root TARGET` unmounts it;
 * `holdfast-launcher map-users PID LINES` writes the maps of the user namespace that the guest of a container has made.
 * `holdfast-launcher subordinate …` runs a program, which may be the launcher again, as root over subordinate ids (subordinate.h).
 *
 * Holds always: a process is on record in the state directory before it can do anything, so whatever dies at
 * whichever line, the server finds and destroys all of it by the sandbox's name.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cgroup.h"
#include "container-mounts.h"
#include "container-root.h"
#include "guest-socket.h"
#include "hidden-processes.h"
#include "jail.h"
#include "network.h"
#include "owner-map.h"
#include "plan.h"
#include "process.h"
#include "report.h"
#include "staging.h"
#include "subordinate.h"
#include "terminals.h"
#include "user-counts.h"

enum { HELLO_TIMEOUT_MS = 20000 };

/* Ends with the server, so that a restarted server never meets a launcher of the one before. */
static void die_with(pid_t parent) {
  if (parent == 0) return;
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail("start", "cannot follow the server: %s", strerror(errno));
  if (getppid() != parent) fail("start", "the server is gone");
}

static int open_directory(int at, const char *path) {
  int directory = openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (directory < 0) fail("state", "cannot open %s: %s", path, strerror(errno));
  return raise_descriptor(directory);
}

int main(int argc, char **argv) {
  static struct plan plan;
  static struct staged staged;
  struct jail jail;
  struct network network;

  /* Whatever the server left open for its children is not the jail's. */
  if (close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_UNSHARE) != 0) fail("start", "cannot close inherited descriptors: %s", strerror(errno));
  signal(SIGPIPE, SIG_IGN);
  if (argc == 4 && strcmp(argv[1], "hide-processes") == 0) {
    pid_t first = (pid_t)plan_number(argv[2]);
    hide_processes(first, (gid_t)plan_number(argv[3]));
    report_started(first, process_starttime(first));
    return 0;
  }
  if (argc == 2 && strcmp(argv[1], "try-hiding") == 0) {
    pid_t first = try_hiding_processes();
    report_started(first, process_starttime(first));
    return 0;
  }
  if (argc == 4 && strcmp(argv[1], "limit-terminals") == 0) {
    pid_t first = (pid_t)plan_number(argv[2]);
    limit_terminals(first, argv[3]);
    report_started(first, process_starttime(first));
    return 0;
  }
  if (argc >= 4 && strcmp(argv[1], "mount-in-container") == 0) {
    const struct container container = {.init = (pid_t)plan_number(argv[2]), .starttime = plan_number(argv[3])};
    mount_in_container(container, argv + 4, argc - 4);
    report_started(container.init, container.starttime);
    return 0;
  }
  if (argc >= 4 && strcmp(argv[1], "try-owner-map") == 0) {
    try_owner_map(argv[2], argv + 3, argc - 3);
    report_started(getpid(), process_starttime(getpid()));
    return 0;
  }
  if (argc == 5 && strcmp(argv[1], "try-overlay") == 0) {
    try_overlay(argv[2], argv[3], argv[4]);
    report_started(getpid(), process_starttime(getpid()));
    return 0;
  }
  if (argc >= 6 && strcmp(argv[1], "mount-container-root") == 0) {
    mount_container_root(&(struct container_root){.owners = argv[2], .layer = argv[3], .target = argv[4], .lowers = argv + 5, .lower_count = argc - 5});
    report_started(getpid(), process_starttime(getpid()));
    return 0;
  }
  if (argc == 4 && strcmp(argv[1], "map-users") == 0) {
    pid_t first = (pid_t)plan_number(argv[2]);
    owner_map_write(first, argv[3]);
    report_started(first, process_starttime(first));
    return 0;
  }
  if (argc == 3 && strcmp(argv[1], "remove-container-root") == 0) {
    remove_container_root(argv[2]);
    report_started(getpid(), process_starttime(getpid()));
    return 0;
  }
  if (argc > 2 && strcmp(argv[1], "subordinate") == 0) run_with_subordinate_ids(argc - 2, argv + 2);
  plan_parse(&plan, argc, argv);
  die_with(plan.parent);

  int state = open_directory(AT_FDCWD, plan.state_directory);
  int run = open_directory(state, "run");
  int record = record_open(state);
  int listener = guest_socket_listen(run);

  cgroups_make(&plan);
  staging_prepare(&plan, &staged);

  jail_fork(&jail, &plan, &staged, listener);
  close(listener);
  record_process(record, "monitor", jail.monitor);
  jail_release(&jail);

  pid_t init = 0;
  if (plan.init_discovery == INIT_BY_INFO_FD) {
    init = jail_read_init(&jail);
    record_process(record, "init", init);
    if (plan.id_map != NULL) jail_map_ids(&jail, init, plan.id_map);
  }
  if (!guest_socket_speaks(run, HELLO_TIMEOUT_MS)) jail_fail(&jail, "guest");
  if (plan.init_discovery == INIT_BY_CHILDREN) {
    init = process_only_child(jail.monitor);
    if (init == 0) fail("start", "the jail's first process cannot be found");
    record_process(record, "init", init);
  }
  /* Before anybody knows that the guest is there, so before any command. */
  if (plan.hides_processes) hide_processes(init, plan.guest_group);
  if (plan.terminals != NULL) limit_terminals(init, plan.terminals);
  if (plan.bounds_counts) bound_user_counts(init);
  /* Not earlier: the helper brings up the loopback interface too, and the jail program fails when it finds it up. */
  if (plan.network_program != NULL) {
    network_start(&network, &plan, &jail, init);
    record_process(record, "network", network.helper);
    network_wait(&network);
  }

  report_started(init, process_starttime(init));
  return 0;
}
