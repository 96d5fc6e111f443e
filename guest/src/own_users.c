#define _GNU_SOURCE
#include "own_users.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

const char *own_users_make(uid_t maker) {
  /* A namespace of root's would give root's own files to whoever is root in it. */
  if (maker == 0) return "be root and have users of its own";
  if (setgroups(0, NULL) != 0 || setresgid(maker, maker, maker) != 0 || setresuid(maker, maker, maker) != 0) return "become the guest's user";
  return unshare(CLONE_NEWUSER) == 0 ? NULL : "make a user namespace";
}

/* The map of groups is written last. */
static bool is_mapped(void) {
  char byte;
  int map = open("/proc/self/gid_map", O_RDONLY | O_CLOEXEC);
  bool is_there = map >= 0 && read(map, &byte, 1) == 1;
  if (map >= 0) close(map);
  return is_there;
}

const char *own_users_await(int listener) {
  struct pollfd waiting = {.fd = listener, .events = POLLIN};
  for (;;) {
    if (poll(&waiting, 1, -1) < 0 && errno != EINTR) return "wait for the users";
    /* The connection is left for the one who serves. */
    if (is_mapped()) return NULL;
    int early = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (early >= 0) close(early);
  }
}
