/* watch: what changes below a directory, also in directories made later. */
#include "applets.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define MAX_WATCHES 16384
#define EVENTS (IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF)

static int notify;
static bool is_recursive;
/* Relative path of each watch descriptor; descriptors are small and rise by one. */
static char **paths;
static int path_room;

static void put_event(const char *kind, const char *relative) {
  put_string(kind);
  put_string(relative);
}

static bool remember(int descriptor, const char *relative) {
  if (descriptor >= path_room) {
    int room = path_room ? path_room * 2 : 64;
    while (room <= descriptor) room *= 2;
    char **moved = realloc(paths, (size_t)room * sizeof *paths);
    if (!moved) return false;
    memset(moved + path_room, 0, (size_t)(room - path_room) * sizeof *paths);
    paths = moved;
    path_room = room;
  }
  free(paths[descriptor]);
  paths[descriptor] = strdup(relative);
  return paths[descriptor] != NULL;
}

static void join(char *joined, const char *relative, const char *name) {
  int length = snprintf(joined, PATH_MAX, "%s%s%s", relative, relative[0] ? "/" : "", name);
  if (length >= PATH_MAX) joined[0] = 0;
}

/* Watches a directory and all below. Things already in a directory that is new are announced: they may predate the watch. */
static void watch_below(const char *path, const char *relative, bool announces) {
  static int count;
  if (count >= MAX_WATCHES) {
    put_event("overflow", relative);
    return;
  }
  int descriptor = inotify_add_watch(notify, path, EVENTS | IN_ONLYDIR | IN_DONT_FOLLOW);
  if (descriptor < 0) {
    if (errno == ENOSPC) put_event("overflow", relative);
    return;
  }
  count++;
  if (!remember(descriptor, relative) || (!is_recursive && relative[0] == 0 && !announces)) return;
  DIR *directory = opendir(path);
  if (!directory) return;
  for (struct dirent *entry; (entry = readdir(directory));) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    char child[PATH_MAX], child_relative[PATH_MAX];
    join(child, path, entry->d_name);
    join(child_relative, relative, entry->d_name);
    if (announces) put_event("create", child_relative);
    struct stat status;
    if (fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode))
      watch_below(child, child_relative, announces);
  }
  closedir(directory);
}

static void handle(const char *root, const struct inotify_event *event) {
  if (event->mask & IN_Q_OVERFLOW) {
    put_event("overflow", "");
    return;
  }
  if (event->wd < 0 || event->wd >= path_room || !paths[event->wd]) return;
  if (event->mask & IN_IGNORED) {
    free(paths[event->wd]);
    paths[event->wd] = NULL;
    return;
  }
  char relative[PATH_MAX];
  join(relative, paths[event->wd], event->len ? event->name : "");
  if (!event->len) {
    size_t length = strlen(paths[event->wd]);
    memcpy(relative, paths[event->wd], length + 1);
  }
  if (event->mask & IN_DELETE_SELF) {
    /* Its parent reports the removal; only the root has no watched parent. */
    if (!relative[0]) put_event("remove", "");
    return;
  }
  bool is_directory = event->mask & IN_ISDIR;
  if (event->mask & IN_CREATE || event->mask & IN_MOVED_TO) put_event("create", relative);
  if (event->mask & (IN_MODIFY | IN_CLOSE_WRITE) && !is_directory) put_event("write", relative);
  if (event->mask & IN_DELETE) put_event("remove", relative);
  if (event->mask & IN_MOVED_FROM) put_event("rename", relative);
  if (event->mask & IN_ATTRIB && event->len) put_event("chmod", relative);
  if (is_recursive && is_directory && event->mask & (IN_CREATE | IN_MOVED_TO)) {
    char path[PATH_MAX];
    join(path, root, relative);
    watch_below(path, relative, true);
  }
}

int applet_watch(int argc, char **argv) {
  is_recursive = argc > 2 && has_flag(argv[2], 'r');
  struct stat status;
  if (stat(argv[1], &status) != 0) return fail("cannot watch", argv[1]);
  if (!S_ISDIR(status.st_mode)) return fail_with(ENOTDIR, "cannot watch", argv[1]);
  char root[PATH_MAX];
  if (!realpath(argv[1], root)) return fail("cannot watch", argv[1]);
  notify = inotify_init1(IN_CLOEXEC);
  if (notify < 0) return fail("cannot watch", argv[1]);
  watch_below(root, "", false);
  put_event("ready", "");
  put_flush();
  static char buffer[65536] __attribute__((aligned(__alignof__(struct inotify_event))));
  for (;;) {
    ssize_t got = read(notify, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return fail("cannot watch", argv[1]);
    for (char *at = buffer; at < buffer + got;) {
      const struct inotify_event *event = (const struct inotify_event *)(const void *)at;
      handle(root, event);
      at += sizeof *event + event->len;
    }
    put_flush();
  }
}
