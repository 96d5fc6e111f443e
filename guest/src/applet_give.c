/*
 * give: a tree that a sandbox filled belongs to another user from now on.
 *
 *   give PATH UID GID
 *   point DIRECTORY NAME ASIDE UID GID: a directory of this name for a mount; anything else of the name is renamed to ASIDE
 *
 * Run by the server on its own host. Links are never followed, and a tree may be deeper than any path and than any number of
 * descriptors: one directory is open at a time, and the way back is `..`, which must lead to where the walk came from. So a program
 * that moves a directory meanwhile stops the walk, and leads it nowhere.
 */
#include "applets.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct level {
  dev_t device;
  ino_t inode;
  long position;
};

static struct {
  struct level *levels;
  size_t count, room;
} way;

static int go_down(DIR *directory, const struct stat *status) {
  if (way.count == way.room) {
    size_t room = way.room ? way.room * 2 : 64;
    struct level *moved = realloc(way.levels, room * sizeof *moved);
    if (!moved) return ENOMEM;
    way.levels = moved;
    way.room = room;
  }
  way.levels[way.count++] = (struct level){status->st_dev, status->st_ino, telldir(directory)};
  return 0;
}

static DIR *open_below(int directory, const char *name, struct stat *status) {
  int fd = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 || fstat(fd, status) != 0) return NULL;
  return fdopendir(fd);
}

/* The directory above, where the walk left it. */
static DIR *go_up(DIR *directory, struct stat *status) {
  const struct level *above = &way.levels[--way.count];
  DIR *parent = open_below(dirfd(directory), "..", status);
  if (!parent) return NULL;
  if (status->st_dev != above->device || status->st_ino != above->inode) {
    closedir(parent);
    errno = ESTALE;
    return NULL;
  }
  seekdir(parent, above->position);
  return parent;
}

/* 0 or an errno; what vanishes meanwhile needs no owner. */
static int give_below(DIR *directory, struct stat *here, uid_t uid, gid_t gid) {
  const dev_t device = here->st_dev;
  for (;;) {
    errno = 0;
    struct dirent *entry = readdir(directory);
    if (!entry) {
      if (errno || way.count == 0) return errno;
      DIR *parent = go_up(directory, here);
      if (!parent) return errno;
      closedir(directory);
      directory = parent;
      continue;
    }
    struct stat status;
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    if (fchownat(dirfd(directory), entry->d_name, uid, gid, AT_SYMLINK_NOFOLLOW) != 0 && errno != ENOENT) return errno;
    if (fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(status.st_mode) || status.st_dev != device) continue;
    DIR *below = open_below(dirfd(directory), entry->d_name, &status);
    if (!below && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)) continue;
    if (!below) return errno;
    int error = go_down(directory, here);
    if (error) return error;
    closedir(directory);
    directory = below;
    *here = status;
  }
}

int applet_give(int argc, char **argv) {
  (void)argc;
  uid_t uid = (uid_t)strtoul(argv[2], NULL, 10);
  gid_t gid = (gid_t)strtoul(argv[3], NULL, 10);
  if (fchownat(AT_FDCWD, argv[1], uid, gid, AT_SYMLINK_NOFOLLOW) != 0) return fail("cannot change the owner of", argv[1]);
  struct stat here;
  DIR *top = open_below(AT_FDCWD, argv[1], &here);
  if (!top && (errno == ENOTDIR || errno == ELOOP)) return 0;
  int error = top ? give_below(top, &here, uid, gid) : errno;
  return error ? fail_with(error, "cannot change the owner of what is below", argv[1]) : 0;
}

int applet_point(int argc, char **argv) {
  (void)argc;
  const char *name = argv[2];
  struct stat status;
  int directory = open(argv[1], O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (directory < 0) return fail("cannot open", argv[1]);
  if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
    if (S_ISDIR(status.st_mode)) return 0;
    if (renameat(directory, name, directory, argv[3]) != 0) return fail("cannot set aside", name);
  } else if (errno != ENOENT) return fail("cannot look at", name);
  if (mkdirat(directory, name, 0755) != 0) return fail("cannot make", name);
  uid_t uid = (uid_t)strtoul(argv[4], NULL, 10);
  gid_t gid = (gid_t)strtoul(argv[5], NULL, 10);
  return fchownat(directory, name, uid, gid, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : fail("cannot change the owner of", name);
}
