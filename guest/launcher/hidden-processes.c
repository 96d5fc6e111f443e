/* See hidden-processes.h. */
#define _GNU_SOURCE
#include "hidden-processes.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "descriptor.h"
#include "report.h"

/* Spelled here because the headers that have them clash with each other on some C libraries. */
enum {
  SYSCALL_FSCONFIG = 431,
  SYSCALL_FSPICK = 433,
  PICK_EMPTY_PATH = 8,
  CONFIG_SET_STRING = 1,
  CONFIG_RECONFIGURE = 7,
  PROC_MAGIC = 0x9fa0,
};

/* The /proc that the first process inside sees, and never the host's own. */
static int open_proc_inside(pid_t init) {
  char path[64];
  struct stat inside, ours;
  struct statfs kind;
  snprintf(path, sizeof path, "/proc/%d/root/proc", (int)init);
  int proc = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (proc < 0) fail("hide processes", "cannot open %s: %s", path, strerror(errno));
  if (fstat(proc, &inside) != 0 || stat("/proc", &ours) != 0 || fstatfs(proc, &kind) != 0) fail("hide processes", "cannot look at %s: %s", path, strerror(errno));
  if (kind.f_type != PROC_MAGIC || inside.st_dev == ours.st_dev) fail("hide processes", "%s is no proc file system of a sandbox", path);
  return proc;
}

static void set_option(int configuration, const char *name, const char *value) {
  if (syscall(SYSCALL_FSCONFIG, configuration, CONFIG_SET_STRING, name, value, 0) != 0) fail("hide processes", "the kernel takes no %s=%s for /proc: %s", name, value, strerror(errno));
}

static bool is_hidden(pid_t init) {
  char path[64], line[4096];
  bool found = false;
  snprintf(path, sizeof path, "/proc/%d/mountinfo", (int)init);
  FILE *mounts = fopen(path, "re");
  if (mounts == NULL) fail("hide processes", "cannot open %s: %s", path, strerror(errno));
  while (fgets(line, sizeof line, mounts) != NULL) {
    char point[256];
    if (sscanf(line, "%*d %*d %*s %*s %255s", point) != 1 || strcmp(point, "/proc") != 0) continue;
    /* The last one mounted there is the one that is seen. Kernels before 5.8 say it with the number. */
    found = strstr(line, "hidepid=invisible") != NULL || strstr(line, "hidepid=2") != NULL;
  }
  fclose(mounts);
  return found;
}

void hide_processes(pid_t init, gid_t guest_group) {
  char group[16];
  snprintf(group, sizeof group, "%u", guest_group);
  int proc = open_proc_inside(init);
  int configuration = (int)syscall(SYSCALL_FSPICK, proc, "", PICK_EMPTY_PATH);
  if (configuration < 0) fail("hide processes", "cannot change the options of /proc inside: %s", strerror(errno));
  set_option(configuration, "gid", group);
  set_option(configuration, "hidepid", "2");
  if (syscall(SYSCALL_FSCONFIG, configuration, CONFIG_RECONFIGURE, NULL, NULL, 0) != 0) fail("hide processes", "the kernel refused hidepid for /proc inside: %s", strerror(errno));
  close(configuration);
  close(proc);
  if (!is_hidden(init)) fail("hide processes", "/proc inside still shows every process");
}

/* First process of a pid namespace with a /proc of its own; lives until the trial is over, however that ends. */
__attribute__((noreturn)) static void stand_in(struct pipe_ends ready, struct pipe_ends over) {
  char byte;
  close(ready.read);
  close(over.write);
  bool is_ready = mount(NULL, "/", NULL, MS_PRIVATE | MS_REC, NULL) == 0 && mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0;
  if (write(ready.write, is_ready ? "y" : "n", 1) == 1 && read(over.read, &byte, 1) < 0) _exit(1);
  _exit(0);
}

pid_t try_hiding_processes(void) {
  struct pipe_ends ready = make_pipe(), over = make_pipe();
  char answer = 'n';
  /* Only children are in the new pid namespace; the mount namespace is ours from here on, so the child makes its own. */
  if (unshare(CLONE_NEWPID) != 0) fail("hide processes", "cannot make a pid namespace: %s", strerror(errno));
  pid_t child = (pid_t)syscall(SYS_clone, CLONE_NEWNS | SIGCHLD, NULL, NULL, NULL, NULL);
  if (child < 0) fail("hide processes", "cannot make a mount namespace: %s", strerror(errno));
  if (child == 0) stand_in(ready, over);
  close(ready.write);
  if (read(ready.read, &answer, 1) != 1 || answer != 'y') fail("hide processes", "cannot mount /proc in a namespace of its own");
  hide_processes(child, 0);
  close(over.write);
  return child;
}
