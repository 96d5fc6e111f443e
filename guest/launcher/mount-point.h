/*
 * Mount points: the empty directory or file that a bind mount needs below it.
 */
#ifndef HOLDFAST_LAUNCHER_MOUNT_POINT_H
#define HOLDFAST_LAUNCHER_MOUNT_POINT_H

#include <stdbool.h>

/* An empty directory, or an empty file. 0, or -1 with errno. */
int mount_point_make(int parent, const char *name, bool directory);

/*
 * A mount point inside another mount, made where it is missing, opened without ever following a symbolic link. A
 * directory made here belongs to the owner of the one it is made in, so that people can remove it again. `root` stays open.
 */
int mount_point_open_below(int root, const char *relative, bool directory);

#endif
