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
  /* Of an overlay's `layer`; -1 for every other source. */
  int layers[MAX_SOURCES];
};

/* Without following a symbolic link anywhere on the way. */
int staging_open(const char *path);

/*
 * A copy of the source's mount tree, protected as a whole before anybody can see it: a file system mounted below a
 * read-only source is read-only too, and what the host mounts there later does not appear. `owners` holds the map of a
 * source that is mapped. Of an overlay's lower directory, only the file system that it lies on is copied.
 */
int staging_copy_mount(const struct source *source, int descriptor, int owners);

/* For the program alone from here on: what it mounts is never seen on the host. */
void staging_enter_mount_namespace(void);

/* A tmpfs over `directory`, for mounts that need a path. */
void staging_cover(const char *directory);

/* A file is shown at a file, everything else is refused. */
bool staging_is_directory(int source);

/* Copies what is mounted at a descriptor, without what is mounted below. */
int staging_copy_directory(int directory);

/* Attaches a detached mount; consumes both descriptors. `what` names it in a report. */
void staging_attach(int tree, int mount_point, const char *what);

enum { MAX_LAYERS = 128 };

/*
 * An overlay at `path` over these detached mounts, topmost first, which it consumes. Its changes go to `upper` below `layer`. Nothing is
 * synced to the disk (volatile): the changes end with the sandbox.
 */
void staging_mount_overlay(const int *lowers, size_t count, int layer, const char *path, const char *what);

/* Mounts an overlay in a private mount namespace and ends the program with a report when the kernel refuses it. */
void try_overlay(const char *owners, const char *lower, const char *layer);

void staging_prepare(const struct plan *plan, struct staged *staged);

#endif
