/* See cgroup.h. */
#define _GNU_SOURCE
#include "cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "report.h"

static int open_in(const char *directory, const char *file) {
  char path[4096];
  int length = snprintf(path, sizeof path, "%s/%s", directory, file);
  if (length < 0 || (size_t)length >= sizeof path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  return open(path, O_WRONLY | O_CLOEXEC);
}

static int write_in(const char *directory, const char *file, const char *value) {
  int descriptor = open_in(directory, file);
  if (descriptor < 0) return -1;
  ssize_t written = write(descriptor, value, strlen(value));
  int error = errno;
  close(descriptor);
  errno = error;
  return written < 0 ? -1 : 0;
}

void cgroups_make(const struct plan *plan) {
  for (size_t i = 0; i < plan->cgroup_count; i++) {
    if (mkdir(plan->cgroups[i], 0755) != 0) fail("cgroup", "cannot make the cgroup %s: %s", plan->cgroups[i], strerror(errno));
  }
  for (size_t i = 0; i < plan->limit_count; i++) {
    const struct limit *limit = &plan->limits[i];
    const char *directory = plan->cgroups[limit->cgroup];
    if (write_in(directory, limit->file, limit->value) == 0) continue;
    if (limit->optional && errno == ENOENT) continue;
    fail("cgroup", "cannot set %s to %s in %s: %s", limit->file, limit->value, directory, strerror(errno));
  }
}

/* Version 2: the child is born in its cgroup. That takes no lock of the whole system, unlike a write to cgroup.procs. */
static pid_t fork_into(int cgroup) {
  struct clone_args arguments = {.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (unsigned long long)cgroup};
  return (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
}

static void complain_and_leave(const char *directory) {
  dprintf(STDERR_FILENO, "cannot join the cgroup %s: %s\n", directory, strerror(errno));
  _exit(126);
}

/*
 * Version 1: a single-threaded process that writes "0" to `tasks` moves only itself, and the kernel then skips the lock
 * that a write to cgroup.procs takes; that lock alone costs 7 to 15 ms when it is cold.
 */
static void join_version_1(const char *directory) {
  if (write_in(directory, "tasks", "0") != 0) complain_and_leave(directory);
}

pid_t cgroups_fork(const struct plan *plan) {
  int version_2 = -1;
  bool is_version_1[MAX_CGROUPS] = {false};
  for (size_t i = 0; i < plan->cgroup_count; i++) {
    int tasks = open_in(plan->cgroups[i], "tasks");
    is_version_1[i] = tasks >= 0;
    if (tasks >= 0) {
      close(tasks);
    } else {
      version_2 = open(plan->cgroups[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      if (version_2 < 0) fail("cgroup", "cannot open the cgroup %s: %s", plan->cgroups[i], strerror(errno));
    }
  }
  pid_t child = version_2 >= 0 ? fork_into(version_2) : fork();
  if (child < 0) fail("cgroup", "cannot fork into the cgroup: %s", strerror(errno));
  if (child == 0) {
    for (size_t i = 0; i < plan->cgroup_count; i++) {
      if (is_version_1[i]) join_version_1(plan->cgroups[i]);
    }
    return 0;
  }
  if (version_2 >= 0) close(version_2);
  return child;
}
