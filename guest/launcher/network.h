/*
 * The network helper (slirp4netns): gives the jail's own network namespace a way out, in user space.
 *
 * It runs as the jail's user in the jail's cgroups and ends when the monitor does.
 */
#ifndef HOLDFAST_LAUNCHER_NETWORK_H
#define HOLDFAST_LAUNCHER_NETWORK_H

#include "jail.h"

struct network {
  pid_t helper;
  int complaint;
  struct pipe_ends ready;
};

/* Starts the helper for the namespace of `init`, without waiting for it. */
void network_start(struct network *network, const struct plan *plan, const struct jail *jail, pid_t init);

/* Waits until the interface is configured. */
void network_wait(const struct network *network);

#endif
