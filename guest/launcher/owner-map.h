/*
 * Owner maps: a mount that shows the files of some users of the host as those of others, and creates files the other way round.
 *
 * A directory of the host belongs to a user of the host; commands of a session run as a host user of their own. The server writes the map
 * as lines of uid_map: owner on disk, owner shown, how many. Groups of the same numbers are mapped alike.
 */
#ifndef HOLDFAST_LAUNCHER_OWNER_MAP_H
#define HOLDFAST_LAUNCHER_OWNER_MAP_H

#include <sys/types.h>

/* Of the user namespace of a process: users first, then groups. `lines` is text. */
void owner_map_write(pid_t process, const void *lines);

/* A descriptor of a user namespace that holds the map and no process. The caller closes it. */
int owner_map_open(const char *lines);

/* Whether the mounts at and below these paths take the map. Ends the program with a report when one does not. */
void try_owner_map(const char *lines, char **paths, int count);

#endif
