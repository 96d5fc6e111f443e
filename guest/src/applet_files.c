/* stat, list, mkdir, move, remove, chmod, chown. */
#include "applets.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

bool parents_made(const char *path, const char *flags);

int applet_stat(int argc, char **argv) {
  struct stat status;
  bool follows = argc > 2 && has_flag(argv[2], 'f');
  if (fstatat(AT_FDCWD, argv[1], &status, follows ? 0 : AT_SYMLINK_NOFOLLOW) != 0) return fail("cannot stat", argv[1]);
  put_entry(argv[1], AT_FDCWD, argv[1], &status);
  return 0;
}

static bool list_visit(struct walk *walk, int directory, const char *name, const char *path, const char *relative, const struct stat *status) {
  (void)relative;
  if (walk->limit-- == 0) return walk_cut(walk, "entries");
  put_entry(path, directory, name, status);
  return true;
}

int applet_list(int argc, char **argv) {
  struct walk walk = {
    .max_depth = argc > 2 ? atoi(argv[2]) : 1, .limit = argc > 3 ? atol(argv[3]) : LONG_MAX, .visit = list_visit,
  };
  int error = walk_tree(argv[1], &walk);
  if (error) return fail_with(error, "cannot list", argv[1]);
  if (walk.cut_by) put_truncated(walk.cut_by);
  return 0;
}

int applet_mkdir(int argc, char **argv) {
  const char *flags = argc > 3 ? argv[3] : "";
  mode_t mode = argc > 2 ? (mode_t)strtoul(argv[2], NULL, 8) : 0755;
  if (!parents_made(argv[1], flags)) return fail("cannot make the directories above", argv[1]);
  if (mkdir(argv[1], mode) == 0) return chmod(argv[1], mode) == 0 ? 0 : fail("cannot set the mode of", argv[1]);
  struct stat status;
  if (errno == EEXIST && has_flag(flags, 'p') && stat(argv[1], &status) == 0 && S_ISDIR(status.st_mode)) return 0;
  return fail("cannot make", argv[1]);
}

static int remove_entry(int directory, const char *name, int depth) {
  if (unlinkat(directory, name, 0) == 0) return 0;
  if (errno != EISDIR && errno != EPERM) return errno;
  if (depth > 256) return ELOOP;
  int fd = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return errno;
  DIR *inner = fdopendir(fd);
  if (!inner) return errno;
  int error = 0;
  for (struct dirent *entry; !error && (entry = readdir(inner));)
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
      error = remove_entry(dirfd(inner), entry->d_name, depth + 1);
  closedir(inner);
  if (!error && unlinkat(directory, name, AT_REMOVEDIR) != 0) error = errno;
  return error;
}

int applet_remove(int argc, char **argv) {
  const char *flags = argc > 2 ? argv[2] : "";
  int error;
  if (has_flag(flags, 'r')) error = remove_entry(AT_FDCWD, argv[1], 0);
  else {
    struct stat status;
    error = lstat(argv[1], &status) != 0 ? errno
          : unlinkat(AT_FDCWD, argv[1], S_ISDIR(status.st_mode) ? AT_REMOVEDIR : 0) != 0 ? errno : 0;
  }
  if (error == ENOENT && has_flag(flags, 'f')) error = 0;
  return error ? fail_with(error, "cannot remove", argv[1]) : 0;
}

static int copy_tree(int from_directory, const char *from, int to_directory, const char *to);

static int copy_file(int from_directory, const char *from, int to_directory, const char *to, const struct stat *status) {
  int in = openat(from_directory, from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (in < 0) return errno;
  int out = openat(to_directory, to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  int error = out < 0 ? errno : 0;
  static char bytes[65536];
  for (ssize_t got; !error && (got = read(in, bytes, sizeof bytes)) != 0;) {
    if (got < 0) error = errno;
    for (ssize_t done = 0; !error && done < got;) {
      ssize_t written = write(out, bytes + done, (size_t)(got - done));
      if (written < 0) error = errno; else done += written;
    }
  }
  struct timespec times[2] = {status->st_atim, status->st_mtim};
  if (!error && (fchmod(out, status->st_mode & 07777u) != 0 || futimens(out, times) != 0)) error = errno;
  close(in);
  if (out >= 0 && close(out) != 0 && !error) error = errno;
  return error;
}

static int copy_directory(int from_directory, const char *from, int to_directory, const char *to, const struct stat *status) {
  if (mkdirat(to_directory, to, 0700) != 0) return errno;
  int in = openat(from_directory, from, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  int out = openat(to_directory, to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *directory = in < 0 || out < 0 ? NULL : fdopendir(in);
  if (!directory) return errno;
  int error = 0;
  for (struct dirent *entry; !error && (entry = readdir(directory));)
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
      error = copy_tree(dirfd(directory), entry->d_name, out, entry->d_name);
  if (!error && fchmod(out, status->st_mode & 07777u) != 0) error = errno;
  closedir(directory);
  close(out);
  return error;
}

static int copy_tree(int from_directory, const char *from, int to_directory, const char *to) {
  struct stat status;
  if (fstatat(from_directory, from, &status, AT_SYMLINK_NOFOLLOW) != 0) return errno;
  if (S_ISDIR(status.st_mode)) return copy_directory(from_directory, from, to_directory, to, &status);
  if (S_ISREG(status.st_mode)) return copy_file(from_directory, from, to_directory, to, &status);
  if (!S_ISLNK(status.st_mode)) return EXDEV;
  char target[PATH_MAX];
  ssize_t length = readlinkat(from_directory, from, target, sizeof target - 1);
  if (length < 0) return errno;
  target[length] = 0;
  return symlinkat(target, to_directory, to) == 0 ? 0 : errno;
}

/* Between file systems a move is a copy; the source goes only when the copy is whole, and a half copy goes again. */
static int move_across(const char *from, const char *to) {
  struct stat status;
  if (lstat(to, &status) == 0) {
    if (S_ISDIR(status.st_mode)) return EXDEV;
    if (unlink(to) != 0) return errno;
  }
  int error = copy_tree(AT_FDCWD, from, AT_FDCWD, to);
  if (error) {
    remove_entry(AT_FDCWD, to, 0);
    return error;
  }
  return remove_entry(AT_FDCWD, from, 0);
}

int applet_move(int argc, char **argv) {
  const char *flags = argc > 3 ? argv[3] : "";
  struct stat status;
  if (lstat(argv[1], &status) != 0) return fail("cannot move", argv[1]);
  if (!parents_made(argv[2], flags)) return fail("cannot make the directories above", argv[2]);
  unsigned how = has_flag(flags, 'x') ? RENAME_NOREPLACE : 0;
  if (renameat2(AT_FDCWD, argv[1], AT_FDCWD, argv[2], how) == 0) return 0;
  if (errno != EXDEV) return fail("cannot move to", argv[2]);
  if (how && lstat(argv[2], &status) == 0) return fail_with(EEXIST, "cannot move to", argv[2]);
  int error = move_across(argv[1], argv[2]);
  return error ? fail_with(error, "cannot move to", argv[2]) : 0;
}

struct change {
  bool is_mode;
  mode_t mode;
  uid_t uid;
  gid_t gid;
  int error;
};

static int change_one(int directory, const char *name, const struct change *change, bool is_link) {
  if (change->is_mode) return is_link || fchmodat(directory, name, change->mode, 0) == 0 ? 0 : errno;
  return fchownat(directory, name, change->uid, change->gid, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : errno;
}

static bool change_visit(struct walk *walk, int directory, const char *name, const char *path, const char *relative, const struct stat *status) {
  (void)path;
  (void)relative;
  struct change *change = walk->context;
  int error = change_one(directory, name, change, S_ISLNK(status->st_mode));
  if (error) change->error = error;
  return true;
}

static int change_tree(const char *path, const char *flags, struct change *change, const char *what) {
  int error = change_one(AT_FDCWD, path, change, false);
  struct stat status;
  if (!error && has_flag(flags, 'r') && lstat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
    struct walk walk = {.max_depth = INT_MAX, .limit = LONG_MAX, .visit = change_visit, .context = change};
    error = walk_tree(path, &walk);
  }
  if (!error) error = change->error;
  return error ? fail_with(error, what, path) : 0;
}

int applet_chmod(int argc, char **argv) {
  struct change change = {.is_mode = true, .mode = (mode_t)strtoul(argv[2], NULL, 8) & 07777u};
  return change_tree(argv[1], argc > 3 ? argv[3] : "", &change, "cannot change the mode of");
}

int applet_chown(int argc, char **argv) {
  struct change change = {.uid = (uid_t)strtol(argv[2], NULL, 10), .gid = (gid_t)strtol(argv[3], NULL, 10)};
  return change_tree(argv[1], argc > 4 ? argv[4] : "", &change, "cannot change the owner of");
}
