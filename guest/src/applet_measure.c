/*
 * measure: what lies below directories, as the disk holds it, and what their programs hold open after removing it.
 *
 *   measure BYTES ENTRIES HIDDEN UID (DIRECTORY INSIDE)…
 *
 * Run by the server on its own host, over what sandboxes made: links are never followed, other file systems never entered, memory is
 * constant. It stops at once when more was found than one of the first three numbers (-1: count to the end).
 */
#include "applets.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Each level costs a descriptor; what lies deeper is hidden. */
#define MAX_LEVELS 1000
/* Removed files that are still open, each counted once however many hold it. */
#define MAX_REMOVED 65536

static struct {
  long long bytes, entries, hidden;
} found, most;

static struct {
  dev_t device;
  ino_t inode;
} removed[MAX_REMOVED * 2];
static size_t removed_count;

static bool is_over(void) {
  return (most.bytes >= 0 && found.bytes > most.bytes) || (most.entries >= 0 && found.entries > most.entries) ||
         (most.hidden >= 0 && found.hidden > most.hidden);
}

/* Of a file with several names each name counts its share. */
static void count(const struct stat *status) {
  long long bytes = (long long)status->st_blocks * 512;
  found.entries++;
  found.bytes += S_ISDIR(status->st_mode) || status->st_nlink < 2 ? bytes : bytes / (long long)status->st_nlink;
}

/* Its owner may have taken away their own rights, and only root is not bound by that. The descriptor is the very directory: no link. */
static int open_closed(int directory, const char *name, mode_t mode) {
  int itself = openat(directory, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (itself < 0) return -1;
  char path[32];
  snprintf(path, sizeof path, "/proc/self/fd/%d", itself);
  int fd = chmod(path, (mode & 07777) | 0700) == 0 ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  int error = fd < 0 ? EACCES : 0;
  close(itself);
  errno = error;
  return fd;
}

static void measure_below(int fd, dev_t device, int level) {
  DIR *directory = fdopendir(fd);
  if (!directory) {
    close(fd);
    found.hidden++;
    return;
  }
  for (struct dirent *entry; !is_over() && (entry = readdir(directory));) {
    const char *name = entry->d_name;
    struct stat status;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
    if (fstatat(fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno != ENOENT) found.hidden++;
      continue;
    }
    if (status.st_dev != device) continue;
    count(&status);
    if (!S_ISDIR(status.st_mode)) continue;
    int below = -1;
    errno = ELOOP;
    if (level < MAX_LEVELS) below = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (below < 0 && errno == EACCES) below = open_closed(fd, name, status.st_mode);
    if (below >= 0) measure_below(below, device, level + 1);
    else if (errno != ENOENT && errno != ENOTDIR) found.hidden++;
  }
  closedir(directory);
}

/* True the first time. */
static bool is_new(const struct stat *status) {
  size_t place = (size_t)status->st_ino * 0x9e3779b97f4a7c15u % (MAX_REMOVED * 2);
  for (; removed[place].inode; place = (place + 1) % (MAX_REMOVED * 2))
    if (removed[place].inode == status->st_ino && removed[place].device == status->st_dev) return false;
  if (removed_count == MAX_REMOVED) {
    found.hidden++;
    return false;
  }
  removed_count++;
  removed[place].inode = status->st_ino;
  removed[place].device = status->st_dev;
  return true;
}

/* Every link in PROC/NAME leads to a file that is held: those that no name leads to any more are counted. */
static void count_removed(int proc, const char *name, dev_t device, long uid) {
  int fd = openat(proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *held = fd < 0 ? NULL : fdopendir(fd);
  if (!held) {
    if (fd >= 0) close(fd);
    return;
  }
  for (struct dirent *entry; !is_over() && (entry = readdir(held));) {
    struct stat status;
    if (entry->d_name[0] == '.' || fstatat(fd, entry->d_name, &status, 0) != 0) continue;
    if (!S_ISREG(status.st_mode) || status.st_nlink > 0 || status.st_dev != device) continue;
    if ((uid < 0 || status.st_uid == (uid_t)uid) && is_new(&status)) count(&status);
  }
  closedir(held);
}

/* Threads may have descriptors of their own. */
static void count_held_by(int proc, const char *pid, dev_t device, long uid) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%.16s/map_files", pid);
  count_removed(proc, path, device, uid);
  snprintf(path, sizeof path, "%.16s/task", pid);
  int fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *tasks = fd < 0 ? NULL : fdopendir(fd);
  if (!tasks) {
    if (fd >= 0) close(fd);
    return;
  }
  for (struct dirent *entry; !is_over() && (entry = readdir(tasks));) {
    if (entry->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%.16s/fd", entry->d_name);
    count_removed(fd, path, device, uid);
  }
  closedir(tasks);
}

/* Programs that see the directory at INSIDE are those of its sandbox. */
static void measure_removed(const struct stat *root, const char *inside, long uid) {
  DIR *proc = opendir("/proc");
  for (struct dirent *entry; proc && !is_over() && (entry = readdir(proc));) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    char path[PATH_MAX];
    struct stat status;
    if (snprintf(path, sizeof path, "%.16s/root%s", entry->d_name, inside) >= (int)sizeof path) continue;
    if (fstatat(dirfd(proc), path, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (status.st_dev == root->st_dev && status.st_ino == root->st_ino) count_held_by(dirfd(proc), entry->d_name, root->st_dev, uid);
  }
  if (proc) closedir(proc);
}

int applet_measure(int argc, char **argv) {
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  most.bytes = atoll(argv[1]);
  most.entries = atoll(argv[2]);
  most.hidden = atoll(argv[3]);
  long uid = atol(argv[4]);
  for (int i = 5; i + 1 < argc && !is_over(); i += 2) {
    struct stat root;
    int fd = open(argv[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) continue;
    if (fd < 0 || fstat(fd, &root) != 0) return fail("cannot measure", argv[i]);
    /* Not an entry, but a million names make it large. */
    found.bytes += (long long)root.st_blocks * 512;
    measure_below(fd, root.st_dev, 1);
    if (!is_over()) measure_removed(&root, argv[i + 1], uid);
  }
  char text[128];
  snprintf(text, sizeof text, "bytes=%lld entries=%lld hidden=%lld over=%d", found.bytes, found.entries, found.hidden, is_over());
  put_string(text);
  return 0;
}
