/*
 * A user namespace that holds id maps and no process: alive for as long as its descriptor.
 */
#ifndef HOLDFAST_LAUNCHER_HELD_NAMESPACE_H
#define HOLDFAST_LAUNCHER_HELD_NAMESPACE_H

#include <sys/types.h>

/* `write_maps` is called with the pid of a process that waits in the namespace. `what` names the step in a report. */
int held_namespace_open(const char *what, void (*write_maps)(pid_t holder, const void *context), const void *context);

#endif
