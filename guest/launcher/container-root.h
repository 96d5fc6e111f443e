/*
 * The root of a container with `user: root`: an overlay over the layers of an image, with owners mapped to the users of the sandbox.
 *
 * An engine cannot make it: Podman 4.3 copies an image's layers to map their owners. Why: docs/adr/0034-root-inside.md
 */
#ifndef HOLDFAST_LAUNCHER_CONTAINER_ROOT_H
#define HOLDFAST_LAUNCHER_CONTAINER_ROOT_H

struct container_root {
  /* Owners on disk and the owners they are shown as (owner-map.h). */
  const char *owners;
  /* Changes go to `upper` below this directory. */
  const char *layer;
  /* The directory on which the overlay is mounted for the engine, in the mount namespace of the host. */
  const char *target;
  /* The image's layers, the uppermost first. */
  char **lowers;
  int lower_count;
};

void mount_container_root(const struct container_root *root);

/* Fine where nothing is mounted. A container that was started keeps its own copy of the mount. */
void remove_container_root(const char *target);

#endif
