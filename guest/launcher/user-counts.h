/*
 * What the kernel counts per user, for a server that is not root: all its sandboxes are charged to its own user, so each may have a
 * part of what the user has.
 */
#ifndef HOLDFAST_LAUNCHER_USER_COUNTS_H
#define HOLDFAST_LAUNCHER_USER_COUNTS_H

#include <sys/types.h>

/* inotify instances and bytes of message queues. Ends the program with a report when the kernel refuses. */
void bound_user_counts(pid_t init);

#endif
