/*
 * measure: what lies below directories, as the disk holds it, and what their programs hold open after removing it.
 *
 *   measure BYTES ENTRIES HIDDEN UID (DIRECTORY INSIDE)…
 *
 * Run by the server on its own host, over what sandboxes made: links are never followed, other file systems never entered, memory is
 * constant. It stops at once when more was found than one of the first three numbers (-1: count to the end).
 *
 * A removed file is held by descriptors, by mappings, and by messages that carry descriptors and that nobody has received yet
 * (SCM_RIGHTS). The kernel tells how many of the last kind a socket holds (scm_fds in fdinfo). They are copied out of it by MSG_PEEK,
 * which takes nothing away. Those of a connection that was not accepted yet cannot be copied; they are reported as "unseen".
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
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Each level costs a descriptor; what lies deeper is hidden. */
#define MAX_LEVELS 1000
/* Removed files that are still open, each counted once however many hold it. */
#define MAX_REMOVED 65536
/* Descriptors in one message: the kernel's SCM_MAX_FD. */
#define MAX_CARRIED 253
/* Sockets that carry sockets; the kernel refuses deeper ones. */
#define MAX_CARRIED_LEVELS 8
/* Messages of one socket that are looked at. */
#define MAX_MESSAGES 65536
/* More than one message can have: a part of it would be looked at again. */
#define MESSAGE_BYTES (1 << 20)

static struct {
  long long bytes, entries, hidden;
} found, most;
/* Descriptors in messages that could not be looked at. */
static long long unseen;

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

/* A file that no name leads to any more. */
static void count_if_removed(const struct stat *status, dev_t device, long uid) {
  if (!S_ISREG(status->st_mode) || status->st_nlink > 0 || status->st_dev != device) return;
  if ((uid < 0 || status->st_uid == (uid_t)uid) && is_new(status)) count(status);
}

/* How many descriptors the messages in this socket carry, by PROC/fdinfo/NAME. */
static long carried_by(int proc, const char *name) {
  char path[PATH_MAX], text[512];
  snprintf(path, sizeof path, "fdinfo/%.16s", name);
  int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  if (length <= 0) return 0;
  text[length] = '\0';
  const char *field = strstr(text, "scm_fds:");
  return field ? atol(field + strlen("scm_fds:")) : 0;
}

static long count_carried(int socket, dev_t device, long uid, int level);

/* One received copy: a removed file counts, and a socket may carry more. */
static void count_copy(int fd, int self, dev_t device, long uid, int level) {
  struct stat status;
  if (fstat(fd, &status) != 0) return;
  count_if_removed(&status, device, uid);
  if (!S_ISSOCK(status.st_mode)) return;
  char name[16];
  snprintf(name, sizeof name, "%d", fd);
  long carried = carried_by(self, name);
  if (carried > 0) unseen += level < MAX_CARRIED_LEVELS ? carried - count_carried(fd, device, uid, level + 1) : carried;
}

/* Peeks at every message of SOCKET, which is the program's own. Gives how many descriptors were seen. */
static long count_carried(int socket, dev_t device, long uid, int level) {
  int before = -1, from = 0;
  socklen_t size = sizeof before;
  if (getsockopt(socket, SOL_SOCKET, SO_PEEK_OFF, &before, &size) != 0) return 0;
  if (setsockopt(socket, SOL_SOCKET, SO_PEEK_OFF, &from, sizeof from) != 0) return 0;
  int self = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int type = SOCK_STREAM;
  size = sizeof type;
  getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size);
  long seen = 0;
  for (int messages = 0; self >= 0 && messages < MAX_MESSAGES && !is_over(); messages++) {
    static char bytes[MESSAGE_BYTES];
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(MAX_CARRIED * sizeof(int))];
    struct iovec part = {.iov_base = bytes, .iov_len = sizeof bytes};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t length = recvmsg(socket, &message, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (length < 0) break;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    for (; header; header = CMSG_NXTHDR(&message, header)) {
      if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
      size_t carried = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (size_t i = 0; i < carried; i++) {
        int fd;
        memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
        count_copy(fd, self, device, uid, level);
        close(fd);
        seen++;
      }
    }
    /* The end of a connection; a datagram may be empty. */
    if (length == 0 && type != SOCK_DGRAM && !CMSG_FIRSTHDR(&message)) break;
  }
  if (self >= 0) close(self);
  setsockopt(socket, SOL_SOCKET, SO_PEEK_OFF, &before, sizeof before);
  return seen;
}

/* The socket NAME of a thread. */
static void count_in_flight(int proc, const char *pid, const char *name, dev_t device, long uid) {
  long carried = carried_by(proc, name);
  if (carried <= 0) return;
  int process = (int)syscall(SYS_pidfd_open, atoi(pid), 0);
  int socket = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, atoi(name), 0);
  long seen = socket < 0 ? 0 : count_carried(socket, device, uid, 1);
  if (seen < carried) unseen += carried - seen;
  if (socket >= 0) close(socket);
  if (process >= 0) close(process);
}

/* Every link in PROC/NAME leads to a file that is held. */
static void count_removed(int proc, const char *name, const char *pid, dev_t device, long uid) {
  int fd = openat(proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *held = fd < 0 ? NULL : fdopendir(fd);
  if (!held) {
    if (fd >= 0) close(fd);
    return;
  }
  for (struct dirent *entry; !is_over() && (entry = readdir(held));) {
    struct stat status;
    if (entry->d_name[0] == '.' || fstatat(fd, entry->d_name, &status, 0) != 0) continue;
    count_if_removed(&status, device, uid);
    if (pid && S_ISSOCK(status.st_mode)) count_in_flight(proc, pid, entry->d_name, device, uid);
  }
  closedir(held);
}

/* Threads may have descriptors of their own. */
static void count_held_by(int proc, const char *pid, dev_t device, long uid) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%.16s/map_files", pid);
  count_removed(proc, path, NULL, device, uid);
  snprintf(path, sizeof path, "%.16s/task", pid);
  int fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *tasks = fd < 0 ? NULL : fdopendir(fd);
  if (!tasks) {
    if (fd >= 0) close(fd);
    return;
  }
  for (struct dirent *entry; !is_over() && (entry = readdir(tasks));) {
    if (entry->d_name[0] == '.') continue;
    int task = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (task < 0) continue;
    count_removed(task, "fd", pid, device, uid);
    close(task);
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
  char text[160];
  snprintf(text, sizeof text, "bytes=%lld entries=%lld hidden=%lld unseen=%lld over=%d", found.bytes, found.entries, found.hidden, unseen,
           is_over());
  put_string(text);
  return 0;
}
