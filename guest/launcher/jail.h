/*
 * The jail program (bubblewrap or nsjail): started in its cgroups, in its own session, as its own user, with exactly
 * the descriptors it is meant to have.
 */
#ifndef HOLDFAST_LAUNCHER_JAIL_H
#define HOLDFAST_LAUNCHER_JAIL_H

#include <sys/types.h>

#include "descriptor.h"
#include "plan.h"
#include "staging.h"

struct jail {
  pid_t monitor;
  int complaint;
  struct pipe_ends go;
  struct pipe_ends info;
  struct pipe_ends userns_block;
  /* Its read end hangs up when the monitor ends. */
  struct pipe_ends status;
};

/* Forks; the child waits for jail_release, so that it can be put on record before it does anything. */
void jail_fork(struct jail *jail, const struct plan *plan, const struct staged *staged, int listener);
void jail_release(struct jail *jail);

/* The pid of the first process inside, from the monitor's info descriptor. */
pid_t jail_read_init(struct jail *jail);

/* Writes the id maps of the namespace that the first process waits in, then lets it go on. */
void jail_map_ids(struct jail *jail, pid_t init, const char *map);

/* Why it ended: its complaint, or how it died. Ends this program. */
__attribute__((noreturn)) void jail_fail(const struct jail *jail, const char *stage);

/* For a child about to exec: an unprivileged user, and nothing of the launcher's own dispositions. */
void become_jail_user(const struct plan *plan);
void become_clean(int complaint);

/* For that child: prints what failed with its errno, and exits. */
__attribute__((noreturn)) void complain(const char *what);

#endif
