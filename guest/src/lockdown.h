/*
 * What the guest gives up before it starts anything, so that every process of the sandbox is born without it.
 */
#ifndef HOLDFAST_LOCKDOWN_H
#define HOLDFAST_LOCKDOWN_H

#include <stdbool.h>

/*
 * Makes this process unreadable to its neighbours, forbids gaining privileges, empties the bounding, inheritable and
 * ambient capability sets, and installs the system call filter. Returns NULL, or the name of the step that failed.
 * refuses_reserving: files take space on a disk by being written and in no other way.
 */
const char *lockdown(bool refuses_reserving);

#endif
