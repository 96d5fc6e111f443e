/*
 * What the guest gives up before it starts anything, so that every process of the sandbox is born without it.
 */
#ifndef HOLDFAST_LOCKDOWN_H
#define HOLDFAST_LOCKDOWN_H

#include "syscall_filter.h"

/*
 * Makes this process unreadable to its neighbours, forbids gaining privileges, empties the bounding, inheritable and
 * ambient capability sets, and installs the system call filter. Returns NULL, or the name of the step that failed.
 * Where commands are root of the sandbox (`rules.protects_guest_user`), the bounding set keeps what they may have.
 */
const char *lockdown(struct syscall_rules rules);

#endif
