/* read and write: the bytes of a file, exactly. */
#include "applets.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COPY_BYTES 65536

static char copy_buffer[COPY_BYTES];
static char temporary[PATH_MAX];

/* Moves up to `limit` bytes (negative: all); splice where one side allows it, so that nothing is copied twice. */
static bool copy_bytes(int from, int to, long long limit) {
  bool can_splice = true;
  while (limit != 0) {
    size_t want = limit > 0 && limit < COPY_BYTES ? (size_t)limit : COPY_BYTES;
    ssize_t moved;
    if (can_splice) {
      size_t more = limit > 0 && limit < 1 << 20 ? (size_t)limit : 1 << 20;
      moved = splice(from, NULL, to, NULL, more, SPLICE_F_MOVE);
      if (moved < 0 && (errno == EINVAL || errno == ENOSYS)) {
        can_splice = false;
        continue;
      }
    } else {
      moved = read(from, copy_buffer, want);
      for (ssize_t done = 0; moved > 0 && done < moved;) {
        ssize_t written = write(to, copy_buffer + done, (size_t)(moved - done));
        if (written < 0 && errno != EINTR) return false;
        if (written > 0) done += written;
      }
    }
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) return false;
    if (moved == 0) return true;
    if (limit > 0) limit -= moved;
  }
  return true;
}

int applet_read(int argc, char **argv) {
  const char *path = argv[1];
  long long offset = argc > 2 ? atoll(argv[2]) : 0, length = argc > 3 ? atoll(argv[3]) : -1;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (fd < 0 || fstat(fd, &status) != 0) return fail("cannot read", path);
  if (S_ISDIR(status.st_mode)) return fail_with(EISDIR, "cannot read", path);
  if (offset > 0 && lseek(fd, offset, SEEK_SET) < 0) return fail("cannot seek in", path);
  fcntl(1, F_SETPIPE_SZ, 1 << 20);
  return copy_bytes(fd, 1, length) ? 0 : fail("cannot read", path);
}

static void remove_temporary(int signal) {
  if (temporary[0]) unlink(temporary);
  _exit(128 + signal);
}

/* Makes the directories above `path` as far as they are missing. */
static bool make_parents(const char *path) {
  char part[PATH_MAX];
  if (strlen(path) >= sizeof part) {
    errno = ENAMETOOLONG;
    return false;
  }
  strcpy(part, path);
  for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    if (mkdir(part, 0755) != 0 && errno != EEXIST) return false;
    *slash = '/';
  }
  return true;
}

bool parents_made(const char *path, const char *flags) { return !has_flag(flags, 'p') || make_parents(path); }

/* Into the file itself: appending, devices and pipes, and directories in which nothing may be created. */
static int write_in_place(const char *path, mode_t mode, const char *flags) {
  int how = O_WRONLY | O_CREAT | O_CLOEXEC | (has_flag(flags, 'a') ? O_APPEND : O_TRUNC) | (has_flag(flags, 'x') ? O_EXCL : 0);
  int fd = open(path, how, mode);
  if (fd < 0) return fail("cannot write", path);
  /* splice refuses O_APPEND files; copy_bytes then copies. */
  return copy_bytes(0, fd, -1) && close(fd) == 0 ? 0 : fail("cannot write", path);
}

/* Beside the file, then renamed over it once stdin has ended: readers see the old content or the new. */
static int write_replacing(const char *path, mode_t mode, const char *flags) {
  int length = snprintf(temporary, sizeof temporary, "%s.holdfast-%d.tmp", path, (int)getpid());
  if (length >= (int)sizeof temporary) return fail_with(ENAMETOOLONG, "cannot write", path);
  int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) {
    int error = errno;
    temporary[0] = 0;
    if ((error == EACCES || error == EPERM || error == ENAMETOOLONG) && access(path, W_OK) == 0) return write_in_place(path, mode, flags);
    return fail_with(error, "cannot write", path);
  }
  bool is_exclusive = has_flag(flags, 'x');
  bool is_done = copy_bytes(0, fd, -1) && fchmod(fd, mode) == 0 && close(fd) == 0;
  if (is_done) is_done = is_exclusive ? link(temporary, path) == 0 : rename(temporary, path) == 0;
  int error = errno;
  if (!is_done || is_exclusive) unlink(temporary);
  return is_done ? 0 : fail_with(error, "cannot write", path);
}

int applet_write(int argc, char **argv) {
  const char *flags = argc > 3 ? argv[3] : "";
  char path[PATH_MAX];
  /* A link is written through, like any program would. */
  if (!realpath(argv[1], path)) {
    if (errno != ENOENT || strlen(argv[1]) >= sizeof path) return fail("cannot write", argv[1]);
    strcpy(path, argv[1]);
  }
  signal(SIGTERM, remove_temporary);
  if (!parents_made(path, flags)) return fail("cannot make the directories above", path);
  struct stat status;
  bool exists = stat(path, &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) return fail_with(EISDIR, "cannot write", path);
  if (exists && has_flag(flags, 'x')) return fail_with(EEXIST, "cannot write", path);
  mode_t mode = strcmp(argv[2], "-") != 0 ? (mode_t)strtoul(argv[2], NULL, 8) & 07777u : exists ? status.st_mode & 07777u : 0644;
  bool in_place = has_flag(flags, 'a') || (exists && !S_ISREG(status.st_mode)) || (exists && status.st_nlink > 1);
  return in_place ? write_in_place(path, mode, flags) : write_replacing(path, mode, flags);
}
