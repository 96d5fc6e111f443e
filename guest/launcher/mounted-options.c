/* See mounted-options.h. */
#define _GNU_SOURCE
#include "mounted-options.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report.h"

/* Spelled here because the headers that have them clash with each other on some C libraries. */
enum {
  SYSCALL_FSCONFIG = 431,
  SYSCALL_FSPICK = 433,
  PICK_EMPTY_PATH = 8,
  CONFIG_SET_STRING = 1,
  CONFIG_RECONFIGURE = 7,
};

static int open_point(const char *path, struct mounted mounted, const char *what) {
  struct stat inside, ours;
  struct statfs kind;
  int point = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (point < 0) fail(what, "cannot open %s: %s", path, strerror(errno));
  if (fstat(point, &inside) != 0 || fstatfs(point, &kind) != 0) fail(what, "cannot look at %s: %s", path, strerror(errno));
  if (kind.f_type != mounted.magic) fail(what, "%s is another file system than %s should be", path, mounted.point);
  if (strcmp(path, mounted.point) != 0 && stat(mounted.point, &ours) == 0 && inside.st_dev == ours.st_dev) fail(what, "%s is the host's own", path);
  return point;
}

static void set(int point, const char *what, const struct mount_option *options, size_t count) {
  int configuration = (int)syscall(SYSCALL_FSPICK, point, "", PICK_EMPTY_PATH);
  if (configuration < 0) fail(what, "cannot change the options of a mount: %s", strerror(errno));
  for (size_t i = 0; i < count; i++) {
    if (syscall(SYSCALL_FSCONFIG, configuration, CONFIG_SET_STRING, options[i].name, options[i].value, 0) != 0) {
      fail(what, "the kernel does not take %s=%s: %s", options[i].name, options[i].value, strerror(errno));
    }
  }
  if (syscall(SYSCALL_FSCONFIG, configuration, CONFIG_RECONFIGURE, NULL, NULL, 0) != 0) fail(what, "the kernel refused the options: %s", strerror(errno));
  close(configuration);
}

/* The outermost one that is below ours: its owner is this user, and it owns the mounts. */
void enter_users_of_sandbox(pid_t init, const char *what) {
  char path[64];
  struct stat ours, theirs;
  snprintf(path, sizeof path, "/proc/%d/ns/user", (int)init);
  int users = open(path, O_RDONLY | O_CLOEXEC);
  if (users < 0 || stat("/proc/self/ns/user", &ours) != 0) fail(what, "cannot open %s: %s", path, strerror(errno));
  for (int parent; (parent = ioctl(users, NS_GET_PARENT)) >= 0 && fstat(parent, &theirs) == 0 && theirs.st_ino != ours.st_ino; users = parent) close(users);
  if (setns(users, CLONE_NEWUSER) != 0) fail(what, "cannot enter the user namespace of the sandbox: %s", strerror(errno));
}

void mounted_options_set(struct mounted mounted, const char *what, const struct mount_option *options, size_t count) {
  char path[96];
  int status;
  if (geteuid() == 0) {
    snprintf(path, sizeof path, "/proc/%d/root%s", (int)mounted.init, mounted.point);
    int point = open_point(path, mounted, what);
    set(point, what, options, count);
    close(point);
    return;
  }
  pid_t child = fork();
  if (child == 0) {
    snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)mounted.init);
    int mounts = open(path, O_RDONLY | O_CLOEXEC);
    enter_users_of_sandbox(mounted.init, what);
    if (mounts < 0 || setns(mounts, CLONE_NEWNS) != 0) fail(what, "cannot enter the mounts of the sandbox: %s", strerror(errno));
    set(open_point(mounted.point, mounted, what), what, options, count);
    _exit(0);
  }
  /* What failed is reported by the child, on the same stdout. */
  if (child < 0 || waitpid(child, &status, 0) != child) fail(what, "cannot fork: %s", strerror(errno));
  if (status != 0) _exit(1);
}

void mounted_options_read(struct mounted mounted, const char *what, char text[MOUNT_OPTIONS_BYTES]) {
  char path[64], line[4096];
  text[0] = '\0';
  snprintf(path, sizeof path, "/proc/%d/mountinfo", (int)mounted.init);
  FILE *mounts = fopen(path, "re");
  if (mounts == NULL) fail(what, "cannot open %s: %s", path, strerror(errno));
  while (fgets(line, sizeof line, mounts) != NULL) {
    char point[256];
    const char *super = strrchr(line, ' ');
    if (sscanf(line, "%*d %*d %*s %*s %255s", point) != 1 || strcmp(point, mounted.point) != 0 || super == NULL) continue;
    /* The last one mounted there is the one that is seen. */
    snprintf(text, MOUNT_OPTIONS_BYTES, ",%.*s,", (int)strcspn(super + 1, "\n"), super + 1);
  }
  fclose(mounts);
}
