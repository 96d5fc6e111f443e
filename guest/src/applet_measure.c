/*
 * measure: what lies below directories, as the disk holds it, and what their programs hold open after removing it.
 *
 *   measure BYTES ENTRIES HIDDEN UID USERS (DIRECTORY INSIDE [+ OVERLAY]…)…
 *
 * Run by the server on its own host, over what sandboxes made: links are never followed, other file systems never entered, memory is
 * constant. It stops at once when more was found than one of the first three numbers (-1: count to the end).
 *
 * USERS is the descriptor of a user namespace whose root may look into the directories, or -1. Where a sandbox shows a directory, the
 * namespace around the sandbox is entered instead: it has the same ids, and its root may also look into the sandbox's programs.
 *
 * OVERLAY is where a program that shows DIRECTORY at INSIDE sees an overlay with its changes elsewhere: what the program holds open of it
 * after removing it counts too. Files of an overlay have a device of their own, so they are not found otherwise.
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
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/nsfs.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
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

static struct figures {
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

/* The next program that sees the directory at INSIDE: one of its sandbox. */
static struct dirent *next_showing(DIR *proc, const struct stat *root, const char *inside) {
  for (struct dirent *entry; (entry = readdir(proc));) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    char path[PATH_MAX];
    struct stat status;
    if (snprintf(path, sizeof path, "%.16s/root%s", entry->d_name, inside) >= (int)sizeof path) continue;
    if (fstatat(dirfd(proc), path, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (status.st_dev == root->st_dev && status.st_ino == root->st_ino) return entry;
  }
  return NULL;
}

/* A directory on the host, where the sandbox shows it, and the overlays of that sandbox: pairs of "+" and a path. */
struct place {
  const char *path, *inside;
  char **overlays;
  int overlay_count;
};

static void count_overlays_held_by(int proc, const char *pid, const struct place *place, long uid) {
  for (int i = 0; i < place->overlay_count && !is_over(); i++) {
    char path[PATH_MAX];
    struct stat status;
    if (snprintf(path, sizeof path, "%.16s/root%s", pid, place->overlays[2 * i + 1]) >= (int)sizeof path) continue;
    if (fstatat(proc, path, &status, AT_SYMLINK_NOFOLLOW) == 0) count_held_by(proc, pid, status.st_dev, uid);
  }
}

static void measure_removed(const struct stat *root, const struct place *place, long uid) {
  DIR *proc = opendir("/proc");
  for (struct dirent *entry; proc && !is_over() && (entry = next_showing(proc, root, place->inside));) {
    count_held_by(dirfd(proc), entry->d_name, root->st_dev, uid);
    count_overlays_held_by(dirfd(proc), entry->d_name, place, uid);
  }
  if (proc) closedir(proc);
}

/* 0 or an errno. */
static int measure_place(const struct place *place, long uid) {
  struct stat root;
  int fd = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) return 0;
  if (fd < 0 || fstat(fd, &root) != 0) return errno;
  /* Not an entry, but a million names make it large. */
  found.bytes += (long long)root.st_blocks * 512;
  measure_below(fd, root.st_dev, 1);
  if (!is_over()) measure_removed(&root, place, uid);
  return 0;
}

/* The namespace around that of a program which shows the directory; USERS where none does, -1 where it is our own. */
static int users_around(int users, const char *path, const char *inside) {
  struct stat root, ours, theirs;
  DIR *proc = opendir("/proc");
  if (!proc || stat(path, &root) != 0 || stat("/proc/self/ns/user", &ours) != 0) return users;
  for (struct dirent *entry; (entry = next_showing(proc, &root, inside));) {
    char name[64];
    snprintf(name, sizeof name, "/proc/%.16s/ns/user", entry->d_name);
    int own = open(name, O_RDONLY | O_CLOEXEC);
    int around = own < 0 ? -1 : ioctl(own, NS_GET_PARENT);
    if (own >= 0) close(own);
    if (around >= 0 && fstat(around, &theirs) == 0) return theirs.st_ino == ours.st_ino ? -1 : around;
  }
  return users;
}

/* The same by a child, because nobody can leave a namespace again. */
static int measure_place_as(int users, const struct place *place, long uid) {
  struct {
    struct figures found;
    long long unseen;
    int error;
  } report;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
  pid_t child = fork();
  if (child == 0) {
    int around = users_around(users, place->path, place->inside);
    int error = around >= 0 && setns(around, CLONE_NEWUSER) != 0 ? errno : measure_place(place, uid);
    memset(&report, 0, sizeof report);
    report.found = found;
    report.unseen = unseen;
    report.error = error;
    _exit(write(ends[1], &report, sizeof report) == sizeof report ? 0 : 1);
  }
  close(ends[1]);
  ssize_t length = child < 0 ? 0 : read(ends[0], &report, sizeof report);
  close(ends[0]);
  if (child > 0) waitpid(child, NULL, 0);
  if (length != sizeof report) return EIO;
  found = report.found;
  unseen = report.unseen;
  return report.error;
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
  int users = atoi(argv[5]);
  for (int i = 6, next; i + 1 < argc && !is_over(); i = next) {
    struct place place = {argv[i], argv[i + 1], argv + i + 2, 0};
    for (next = i + 2; next + 1 < argc && strcmp(argv[next], "+") == 0; next += 2) place.overlay_count++;
    int error = users < 0 ? measure_place(&place, uid) : measure_place_as(users, &place, uid);
    if (error) return fail_with(error, "cannot measure", argv[i]);
  }
  char text[160];
  snprintf(text, sizeof text, "bytes=%lld entries=%lld hidden=%lld unseen=%lld over=%d", found.bytes, found.entries, found.hidden, unseen,
           is_over());
  put_string(text);
  return 0;
}
