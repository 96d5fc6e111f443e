/*
 * Options of a file system that a sandbox has mounted, changed from outside: neither the jail program nor an engine needs to know
 * them, and the sandbox needs no capability to set them.
 *
 * Root of the host changes them as it is. Any other user does it from the sandbox's own namespaces, which it owns.
 */
#ifndef HOLDFAST_LAUNCHER_MOUNTED_OPTIONS_H
#define HOLDFAST_LAUNCHER_MOUNTED_OPTIONS_H

#include <stddef.h>
#include <sys/types.h>

struct mounted {
  /* The first process of the sandbox. */
  pid_t init;
  /* Where it sees the file system, and of which kind that is: never the host's own. */
  const char *point;
  long magic;
};

struct mount_option {
  const char *name;
  const char *value;
};

enum { MOUNT_OPTIONS_BYTES = 1024 };

/* `what` names the step in a report. */
void mounted_options_set(struct mounted mounted, const char *what, const struct mount_option *options, size_t count);

/* All of them, as the kernel lists them, with a comma before and after each. */
void mounted_options_read(struct mounted mounted, const char *what, char text[MOUNT_OPTIONS_BYTES]);

/* For a child of this program that is not root: from here on it has every right in the sandbox's user namespaces, which its user made. */
void enter_users_of_sandbox(pid_t init, const char *what);

#endif
