/*
 * Mounts for a running container, made from outside: engines have no owner maps, so what needs one is mounted here, after the engine has
 * started the container and before any command runs in it.
 *
 * Each mount is made detached, in a private namespace of this program, and then moved into the container's. So nothing of it is ever
 * mounted on the host, and it ends with the container, whichever program is killed at whichever line.
 */
#ifndef HOLDFAST_LAUNCHER_CONTAINER_MOUNTS_H
#define HOLDFAST_LAUNCHER_CONTAINER_MOUNTS_H

#include <sys/types.h>

/* `init` is the first process of the container; its start time tells it from a later one with the same number. */
struct container {
  pid_t init;
  unsigned long long starttime;
};

/*
 * Five words for each mount, parents first:
 *
 *   image LAYERS CHANGES OWNERS PLACES      an overlay over these layers, topmost first, with colons between them; its PLACES, with spaces
 *                                           between them, are mounted over those of the container, before every directory
 *   directory SOURCE ro|rw OWNERS TARGET    a directory or a file of the host; with empty OWNERS they stay as they are
 *
 * No symbolic link is followed in the container, because its image is not trusted. Ends the program with a report when one cannot be mounted.
 */
void mount_in_container(struct container container, char **words, int count);

#endif
