/* See user-counts.h. */
#define _GNU_SOURCE
#include "user-counts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mounted-options.h"
#include "report.h"

/* Of what the user has. */
enum { PART = 4 };

static const char WHAT[] = "bound counts";
static const char OF_USER[] = "/proc/sys/fs/inotify/max_user_instances";
static const char OF_NAMESPACE[] = "/proc/sys/user/max_inotify_instances";

/* The bound is the namespace's, and is written by whoever is in it. */
static void bound_inotify(pid_t init) {
  unsigned long most = 0;
  int status;
  FILE *file = fopen(OF_USER, "re");
  /* A kernel without inotify has none to bound. */
  if (file == NULL) return;
  if (fscanf(file, "%lu", &most) != 1) fail(WHAT, "cannot read %s", OF_USER);
  fclose(file);
  pid_t child = fork();
  if (child == 0) {
    enter_users_of_sandbox(init, WHAT);
    file = fopen(OF_NAMESPACE, "we");
    /* Not every kernel has it, and in some containers all settings are read-only. */
    if (file == NULL && (errno == ENOENT || errno == EROFS)) _exit(0);
    if (file == NULL || fprintf(file, "%lu\n", most / PART) < 0 || fclose(file) != 0) fail(WHAT, "cannot write %s: %s", OF_NAMESPACE, strerror(errno));
    _exit(0);
  }
  /* What failed is reported by the child, on the same stdout. */
  if (child < 0 || waitpid(child, &status, 0) != child) fail(WHAT, "cannot fork: %s", strerror(errno));
  if (status != 0) _exit(1);
}

/*
 * Set on the running guest, which gives it to all programs. Before its namespace was made it would also have bounded what all
 * sandboxes of the user have together.
 */
static void bound_queues(pid_t init) {
  struct rlimit bytes;
  if (getrlimit(RLIMIT_MSGQUEUE, &bytes) != 0) fail(WHAT, "cannot read the limit of message queues: %s", strerror(errno));
  if (bytes.rlim_cur == RLIM_INFINITY) return;
  const struct rlimit part = {bytes.rlim_cur / PART, bytes.rlim_cur / PART};
  if (prlimit(init, RLIMIT_MSGQUEUE, &part, NULL) != 0) fail(WHAT, "cannot limit message queues: %s", strerror(errno));
}

void bound_user_counts(pid_t init) {
  bound_inotify(init);
  bound_queues(init);
}
