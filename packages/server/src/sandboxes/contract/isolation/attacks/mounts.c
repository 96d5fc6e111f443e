/* Mounts and the kernel's own files: change what is where, or reach the kernel through /proc and /sys. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif

/* remount WHAT: each way to change the mounts, by name. */
static int change_mounts(int count, char **arguments) {
  (void)count;
  const char *way = arguments[0];
  if (strcmp(way, "mount") == 0) return expect_refusal("mounting a tmpfs", mount("none", "/tmp", "tmpfs", 0, NULL));
  if (strcmp(way, "bind") == 0) return expect_refusal("binding / over /tmp", mount("/", "/tmp", NULL, MS_BIND | MS_REC, NULL));
  if (strcmp(way, "remount") == 0) return expect_refusal("remounting / writable", mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL));
  if (strcmp(way, "move") == 0) return expect_refusal("moving /proc", mount("/proc", "/tmp", NULL, MS_MOVE, NULL));
  if (strcmp(way, "propagate") == 0) return expect_refusal("sharing / again", mount(NULL, "/", NULL, MS_SHARED | MS_REC, NULL));
  if (strcmp(way, "unmount") == 0) return expect_refusal("unmounting /proc", umount2("/proc", MNT_DETACH));
  if (strcmp(way, "pivot_root") == 0) return expect_refusal("pivot_root", syscall(SYS_pivot_root, "/tmp", "/tmp"));
  if (strcmp(way, "chroot") == 0) return expect_refusal("chroot", chroot("/tmp"));
  if (strcmp(way, "fsopen") == 0) return expect_refusal("fsopen", syscall(SYS_fsopen, "tmpfs", 0));
  if (strcmp(way, "open_tree") == 0) return expect_refusal("open_tree", syscall(SYS_open_tree, AT_FDCWD, "/", 1 /* OPEN_TREE_CLONE */));
  if (strcmp(way, "mount_setattr") == 0) {
    struct mount_attr writable = {.attr_clr = MOUNT_ATTR_RDONLY};
    return expect_refusal("mount_setattr", syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, &writable, sizeof writable));
  }
  return unable("no way is named %s", way);
}

static char finding[PATH_MAX];
static int visited;

/* Writes back what it read. The mode of such a file tells little: /proc/sys/kernel/ns_last_pid is 0666, and yet writing it is refused. */
static bool is_writable(const char *path) {
  char content[4096];
  int opened = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (opened < 0) {
    /* What can be written but not read must not be tried: it may be a trigger. Being open to us is enough. */
    opened = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (opened >= 0) close(opened);
    return opened >= 0;
  }
  ssize_t size = pread(opened, content, sizeof content, 0);
  bool written = size > 0 && pwrite(opened, content, (size_t)size, 0) > 0;
  close(opened);
  return written;
}

static int judge_setting(const char *path, const struct stat *status, int kind, struct FTW *place) {
  (void)kind, (void)place;
  if (!S_ISREG(status->st_mode)) return FTW_CONTINUE;
  visited++;
  if (!is_writable(path)) return FTW_CONTINUE;
  snprintf(finding, sizeof finding, "%s", path);
  return FTW_STOP;
}

/* change-kernel-settings DIRECTORY: tries every file below; a change would be to the value it has. */
static int change_kernel_settings(int count, char **arguments) {
  (void)count;
  if (access(arguments[0], F_OK) < 0) return held("%s", strerror(errno));
  nftw(arguments[0], judge_setting, 32, FTW_PHYS | FTW_ACTIONRETVAL);
  if (finding[0] != '\0') return broken("%s can be written", finding);
  return held("%d files, none of them writable", visited);
}

static int open_kernel_memory(int count, char **arguments) {
  (void)count, (void)arguments;
  const char *const readable[] = {"/proc/kcore", "/proc/kmsg", "/dev/mem", "/dev/kmem", "/dev/port", "/proc/vmcore", "/dev/kmsg"};
  const char *const writable[] = {"/proc/sysrq-trigger", "/dev/mem", "/dev/kmsg", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe"};
  char byte = 0;
  for (size_t index = 0; index < sizeof readable / sizeof *readable; index++) {
    int opened = open(readable[index], O_RDONLY | O_NONBLOCK);
    /* An engine masks such files with /dev/null, which opens and is empty. */
    if (opened >= 0 && read(opened, &byte, 1) == 1) return broken("%s was read", readable[index]);
    if (opened >= 0) close(opened);
  }
  for (size_t index = 0; index < sizeof writable / sizeof *writable; index++) {
    if (open(writable[index], O_WRONLY | O_NONBLOCK) >= 0) return broken("%s was opened for writing", writable[index]);
  }
  return held("%s", strerror(errno));
}

static int read_kernel_log(int count, char **arguments) {
  (void)count, (void)arguments;
  char log[4096];
  return expect_refusal("reading the kernel's log", syscall(SYS_syslog, 3 /* SYSLOG_ACTION_READ_ALL */, log, sizeof log));
}

const struct attack MOUNT_ATTACKS[] = {
    {"change-mounts", change_mounts, 1},
    {"change-kernel-settings", change_kernel_settings, 1},
    {"open-kernel-memory", open_kernel_memory, 0},
    {"read-kernel-log", read_kernel_log, 0},
    {NULL, NULL, 0},
};
