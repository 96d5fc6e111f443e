/* See container-mounts.h. */
#define _GNU_SOURCE
#include "container-mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mount-point.h"
#include "owner-map.h"
#include "process.h"
#include "report.h"
#include "staging.h"

enum { WORDS_OF_MOUNT = 5, MAX_PLACES = 16 };

static const char WHAT[] = "container";
static const char STAGING_DIRECTORY[] = "/mnt";

struct opened_container {
  int root;
  int mounts;
};

/* A mount that is in no namespace, and where it goes. */
struct detached {
  int tree;
  const char *target;
};

struct image {
  int layers[MAX_LAYERS];
  size_t layer_count;
  int changes;
  char *places;
};

/* All through one descriptor of /proc/PID, which never leads to a later process with the same number. */
static struct opened_container open_container(struct container container) {
  char path[32];
  struct stat ours, theirs;
  snprintf(path, sizeof path, "/proc/%d", (int)container.init);
  int process = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (process < 0 || process_starttime(container.init) != container.starttime) fail(WHAT, "its first process has ended");
  const struct opened_container opened = {
    .root = openat(process, "root", O_PATH | O_DIRECTORY | O_CLOEXEC),
    .mounts = openat(process, "ns/mnt", O_RDONLY | O_CLOEXEC),
  };
  if (opened.root < 0 || opened.mounts < 0) fail(WHAT, "cannot open its mounts: %s", strerror(errno));
  if (fstat(opened.mounts, &theirs) != 0 || stat("/proc/self/ns/mnt", &ours) != 0 || ours.st_ino == theirs.st_ino) fail(WHAT, "it has the mounts of the host");
  close(process);
  return opened;
}

/* `owners` is a descriptor of an owner map, or -1. */
static int copy(struct source source, int owners) {
  int descriptor = staging_open(source.path_or_options);
  int tree = staging_copy_mount(&source, descriptor, owners);
  close(descriptor);
  return tree;
}

static struct image open_image(char **words) {
  struct image image = {.changes = staging_open(words[2]), .places = words[4]};
  const int owners = owner_map_open(words[3]);
  for (char *rest = words[1], *path; (path = strtok_r(rest, ":", &rest)) != NULL;) {
    if (image.layer_count == MAX_LAYERS) fail("overlay", "the image has more than %d layers", MAX_LAYERS);
    image.layers[image.layer_count++] = copy((struct source){.path_or_options = path, .layer = words[2], .owners = words[3]}, owners);
  }
  close(owners);
  if (image.layer_count == 0) fail("overlay", "the image has no layers");
  return image;
}

static struct detached open_directory(char **words) {
  const bool is_mapped = *words[3] != '\0';
  const struct source source = {.path_or_options = words[1], .is_read_only = strcmp(words[2], "rw") != 0, .owners = is_mapped ? words[3] : NULL};
  const int owners = is_mapped ? owner_map_open(words[3]) : -1;
  const struct detached detached = {.tree = copy(source, owners), .target = words[4]};
  if (is_mapped) close(owners);
  return detached;
}

/* One overlay of the whole image, because only the kernel knows what a layer hides of the ones below it. */
static size_t mount_image(const struct image *image, struct detached *shown, size_t most) {
  char path[32];
  size_t count = 0;
  snprintf(path, sizeof path, "%s/image", STAGING_DIRECTORY);
  staging_cover(STAGING_DIRECTORY);
  staging_mount_overlay(image->layers, image->layer_count, image->changes, path, "the image");
  int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  for (char *rest = image->places, *place; (place = strtok_r(rest, " ", &rest)) != NULL;) {
    if (count == most) fail("plan", "more than %zu mounts", most);
    int directory = mount_point_open_below(root, place, true);
    shown[count++] = (struct detached){.tree = staging_copy_directory(directory), .target = place};
    close(directory);
  }
  close(root);
  return count;
}

static void attach(struct detached detached, int root) {
  const bool directory = staging_is_directory(detached.tree);
  staging_attach(detached.tree, mount_point_open_below(root, detached.target, directory), detached.target);
}

void mount_in_container(struct container container, char **words, int count) {
  static struct detached directories[MAX_SOURCES], shown[MAX_PLACES];
  const struct opened_container opened = open_container(container);
  size_t directory_count = 0, shown_count = 0;
  struct image image = {.layer_count = 0};
  staging_enter_mount_namespace();
  for (; count >= WORDS_OF_MOUNT; words += WORDS_OF_MOUNT, count -= WORDS_OF_MOUNT) {
    if (directory_count == MAX_SOURCES) fail("plan", "more than %d mounts", MAX_SOURCES);
    if (strcmp(words[0], "image") == 0) image = open_image(words);
    else directories[directory_count++] = open_directory(words);
  }
  /* After everything was opened: a source may lie below the staging directory. */
  if (image.layer_count > 0) shown_count = mount_image(&image, shown, MAX_PLACES);
  if (setns(opened.mounts, CLONE_NEWNS) != 0) fail(WHAT, "cannot enter its mounts: %s", strerror(errno));
  for (size_t i = 0; i < shown_count; i++) attach(shown[i], opened.root);
  for (size_t i = 0; i < directory_count; i++) attach(directories[i], opened.root);
}
