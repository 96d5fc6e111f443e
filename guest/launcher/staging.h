/*
 * Staging: every mount source is opened without following a symlink, so that a path swapped after the server's check
 * is refused, and is then either bound under a private directory or handed to the jail program as a descriptor.
 *
 * A private directory is needed where the jail program runs as a user that could not walk to the source, such as one
 * below root's home. It exists only in the mount namespace made here, which dies with the sandbox.
 */
#ifndef HOLDFAST_LAUNCHER_STAGING_H
#define HOLDFAST_LAUNCHER_STAGING_H

#include "plan.h"

/* Descriptors of the sources in their order; -1 for a tmpfs. With staging, source N is also at <directory>/N. */
struct staged {
  int descriptors[MAX_SOURCES];
};

void staging_prepare(const struct plan *plan, struct staged *staged);

#endif
