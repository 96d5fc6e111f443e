/*
 * Owner maps: a mount that shows the files of one user of the host as those of another, and creates files the other way round.
 *
 * A directory of the host belongs to the user that all sandboxes once had; commands of a session run as a host user of their own.
 * Every other owner is shown as it is.
 */
#ifndef HOLDFAST_LAUNCHER_OWNER_MAP_H
#define HOLDFAST_LAUNCHER_OWNER_MAP_H

#include <sys/types.h>

struct owner_map {
  uid_t on_disk;
  uid_t shown;
};

/* A descriptor of a user namespace that holds the map and no process. The group of the same number is mapped alike. */
int owner_map_open(struct owner_map map);

/* Whether the mounts at and below these paths take the map. Ends the program with a report when one does not. */
void try_owner_map(struct owner_map map, char **paths, int count);

#endif
