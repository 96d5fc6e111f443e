/* See hidden-processes.h. */
#define _GNU_SOURCE
#include "hidden-processes.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "descriptor.h"
#include "mounted-options.h"
#include "report.h"

enum { PROC_MAGIC = 0x9fa0 };

static const char WHAT[] = "hide processes";

void hide_processes(pid_t init, gid_t guest_group) {
  const struct mounted proc = {.init = init, .point = "/proc", .magic = PROC_MAGIC};
  char group[16], text[MOUNT_OPTIONS_BYTES];
  snprintf(group, sizeof group, "%u", guest_group);
  const struct mount_option options[] = {{"gid", group}, {"hidepid", "2"}};
  mounted_options_set(proc, WHAT, options, sizeof options / sizeof *options);
  mounted_options_read(proc, WHAT, text);
  /* Kernels before 5.8 show the number. */
  if (strstr(text, ",hidepid=invisible,") == NULL && strstr(text, ",hidepid=2,") == NULL) fail(WHAT, "/proc inside still shows every process");
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
