/*
 * cgroups: made, limited and joined here, so that the limits hold from the jail's first instruction.
 */
#ifndef HOLDFAST_LAUNCHER_CGROUP_H
#define HOLDFAST_LAUNCHER_CGROUP_H

#include <sys/types.h>

#include "plan.h"

/* Directories and limit files. */
void cgroups_make(const struct plan *plan);

/* A fork whose child is a member of every cgroup before it returns here. 0 in the child. */
pid_t cgroups_fork(const struct plan *plan);

#endif
