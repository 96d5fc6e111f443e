/* See container-root.h. */
#define _GNU_SOURCE
#include "container-root.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "descriptor.h"
#include "owner-map.h"
#include "report.h"
#include "staging.h"

static const char WHAT[] = "container root";
static const char STAGING_DIRECTORY[] = "/mnt";
static const char OVERLAY[] = "/mnt/root";

/* An overlay that is mounted nowhere, as a descriptor. */
static int make_overlay(const struct container_root *root) {
  static int layers[MAX_LAYERS];
  if (root->lower_count > MAX_LAYERS) fail(WHAT, "the image has more than %d layers", MAX_LAYERS);
  const int owners = owner_map_open(root->owners);
  staging_enter_mount_namespace();
  for (int i = 0; i < root->lower_count; i++) {
    const struct source source = {.path_or_options = root->lowers[i], .layer = root->layer, .owners = root->owners};
    const int lower = staging_open(root->lowers[i]);
    layers[i] = staging_copy_mount(&source, lower, owners);
    close(lower);
  }
  const int changes = staging_open(root->layer);
  staging_cover(STAGING_DIRECTORY);
  staging_mount_overlay(layers, (size_t)root->lower_count, changes, OVERLAY, "the image");
  const int mounted = open(OVERLAY, O_PATH | O_DIRECTORY | O_CLOEXEC);
  const int overlay = raise_descriptor(staging_copy_directory(mounted));
  close(mounted);
  close(changes);
  close(owners);
  return overlay;
}

void mount_container_root(const struct container_root *root) {
  int mounts = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
  if (mounts < 0) fail(WHAT, "cannot open the mount namespace: %s", strerror(errno));
  mounts = raise_descriptor(mounts);
  int overlay = make_overlay(root);
  if (setns(mounts, CLONE_NEWNS) != 0) fail(WHAT, "cannot return to the mounts of the host: %s", strerror(errno));
  staging_attach(overlay, staging_open(root->target), root->target);
}

void remove_container_root(const char *target) {
  if (umount2(target, MNT_DETACH | UMOUNT_NOFOLLOW) != 0 && errno != EINVAL && errno != ENOENT) fail(WHAT, "cannot unmount %s: %s", target, strerror(errno));
}
