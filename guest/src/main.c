/*
 * The guest: first process of every local sandbox.
 *
 *   holdfast-guest serve (--listen PATH | --listen-fd N) [--uid U --gid G] [--allow-local-peers]
 *   holdfast-guest serve (--listen PATH | --listen-fd N) --first-user U --user-count N --user-processes N
 *                        [--unlisted PATH]…
 *   holdfast-guest serve --listen PATH --own-users MAKER --uid 0 --gid 0       (own_users.h)
 *   holdfast-guest APPLET …        (also by the name it is called with)
 */
#include "applets.h"
#include "guest.h"
#include "lockdown.h"
#include "own_users.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static _Noreturn void die(const char *what) {
  dprintf(2, "holdfast-guest: cannot %s: %s\n", what, strerror(errno));
  exit(1);
}

static int bind_at(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    die("listen");
  }
  strcpy(address.sun_path, path);
  unlink(path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  /* Its directory and the check of peers decide who may connect: a server need not be our own user. */
  mode_t before = umask(0111);
  if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0) die("listen");
  umask(before);
  return fd;
}

/* Lifts a descriptor above those that supervisors use for their own. */
static int lift(int fd, const char *what) {
  int lifted = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
  if (lifted < 0) die(what);
  close(fd);
  return lifted;
}

/* Fills every place below FIRST_DESCRIPTOR, so that nothing opened later lands there. */
static void occupy_low_descriptors(void) {
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) null = open("/", O_PATH | O_CLOEXEC);
  if (null < 0) die("open /dev/null");
  for (int fd = 0; fd < FIRST_DESCRIPTOR; fd++)
    if (fd != null) dup3(null, fd, O_CLOEXEC);
  if (null >= FIRST_DESCRIPTOR) close(null);
}

/* Start-up code is mapped and never run again: hand its pages back, so that an idle sandbox costs little. */
static void release_start_up_pages(void) {
  extern char __executable_start, etext;
  uintptr_t first = (uintptr_t)&__executable_start;
  madvise((void *)first, (uintptr_t)&etext - first, MADV_DONTNEED);
}

/* A place that all may write to and none may list. Some engines give a tmpfs the mode of what lies below it, so it is set here. */
static void make_unlisted(const char *path) {
  if (chmod(path, 01733) != 0) die(path);
}

/* A range of users that holds root, ourselves, or the number that means "no user" is none. */
static void check_users(void) {
  if (!defaults.first_user && !defaults.user_count && !defaults.user_processes) return;
  errno = EINVAL;
  if (!defaults.first_user || !defaults.user_count || !defaults.user_processes) die("serve several users by half");
  if (defaults.user_count > UINT32_MAX - defaults.first_user) die("serve users beyond the last uid");
  if (user_is_packed(geteuid())) die("serve its own user");
  errno = EPERM;
  if (geteuid() != 0) die("serve several users without being root");
}

static _Noreturn void serve(int argc, char **argv) {
  int listener = -1;
  const char *path = NULL;
  bool allows_local_peers = false;
  struct syscall_rules rules = {0};
  bool has_own_users = false;
  uid_t maker = 0;
  defaults.uid = geteuid();
  defaults.gid = getegid();
  for (int i = 0; i < argc; i++) {
    const char *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(argv[i], "--allow-local-peers") == 0) {
      allows_local_peers = true;
      continue;
    }
    if (strcmp(argv[i], "--refuse-reserving") == 0) {
      rules.refuses_reserving = true;
      continue;
    }
    if (strcmp(argv[i], "--refuse-set-id") == 0) {
      rules.refuses_set_id = true;
      continue;
    }
    errno = EINVAL;
    if (!value) die(argv[i]);
    if (strcmp(argv[i], "--listen") == 0) path = value;
    else if (strcmp(argv[i], "--listen-fd") == 0) listener = atoi(value);
    else if (strcmp(argv[i], "--uid") == 0) defaults.uid = (uid_t)strtoul(value, NULL, 10);
    else if (strcmp(argv[i], "--gid") == 0) defaults.gid = (gid_t)strtoul(value, NULL, 10);
    else if (strcmp(argv[i], "--own-users") == 0) has_own_users = true, maker = (uid_t)strtoul(value, NULL, 10);
    else if (strcmp(argv[i], "--unlisted") == 0) make_unlisted(value);
    else if (strcmp(argv[i], "--first-user") == 0) defaults.first_user = (uid_t)strtoul(value, NULL, 10);
    else if (strcmp(argv[i], "--user-count") == 0) defaults.user_count = (uint32_t)strtoul(value, NULL, 10);
    else if (strcmp(argv[i], "--user-processes") == 0) defaults.user_processes = (uint32_t)strtoul(value, NULL, 10);
    else die(argv[i]);
    i++;
  }
  check_users();
  /* Bound as root, where no other user may; connected to only once the namespace is there. */
  if (path) listener = bind_at(path);
  const char *failed = has_own_users ? own_users_make(maker) : NULL;
  if (failed) die(failed);
  if (path && listen(listener, 64) != 0) die("listen");
  if (has_own_users) failed = own_users_await(listener);
  if (failed) die(failed);
  if (listener < 0) die("serve without --listen or --listen-fd");
  listener = lift(listener, "keep the listener");
  int self = open("/proc/self/exe", O_PATH | O_CLOEXEC);
  if (self < 0) die("open /proc/self/exe");
  defaults.self_fd = lift(self, "keep the binary");
  /* A sandbox whose commands are root has another user for the guest, with capabilities instead of uid 0. */
  const bool is_root_inside = defaults.uid == 0 && geteuid() != 0;
  defaults.may_change_user = geteuid() == 0 || is_root_inside;
  if (!defaults.may_change_user && defaults.uid != geteuid()) {
    errno = EPERM;
    die("serve another user without being root");
  }
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_NAME, "guest");
  if (chdir("/") != 0) die("enter /");
  /* Neighbours share /tmp: what one makes there is nobody else's to read unless it says so. */
  umask(defaults.first_user ? 077 : 022);
  rules.protects_guest_user = is_root_inside;
  rules.guest_user = geteuid();
  failed = lockdown(rules);
  if (failed) die(failed);
  occupy_low_descriptors();
  loop_open();
  connections_listen(listener, allows_local_peers);
  release_start_up_pages();
  loop_run();
}

int main(int argc, char **argv) {
  if (argc < 1) return 2;
  const char *slash = strrchr(argv[0], '/');
  int result = applet_run(slash ? slash + 1 : argv[0], argc, argv);
  if (result >= 0) return result;
  if (argc > 1 && strcmp(argv[1], "serve") == 0) serve(argc - 2, argv + 2);
  result = argc > 1 ? applet_run(argv[1], argc - 1, argv + 1) : -1;
  if (result >= 0) return result;
  dprintf(2, "usage: holdfast-guest serve (--listen PATH | --listen-fd N) [--uid U --gid G] [--allow-local-peers] [--refuse-reserving]\n");
  return 2;
}
