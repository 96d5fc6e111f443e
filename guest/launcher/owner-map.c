/* See owner-map.h. */
#define _GNU_SOURCE
#include "owner-map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "held-namespace.h"
#include "report.h"
#include "staging.h"

/* The kernel has no user or group of this number. */
static const unsigned long NO_USER = 4294967295UL;

/* Both are exchanged, so that no number means two users. Lines of uid_map: on disk, shown, how many. */
static void spell(struct owner_map map, char text[256]) {
  const unsigned long low = map.on_disk < map.shown ? map.on_disk : map.shown;
  const unsigned long high = map.on_disk < map.shown ? map.shown : map.on_disk;
  int length = 0;
  if (low > 0) length += snprintf(text + length, 256 - (size_t)length, "0 0 %lu\n", low);
  length += snprintf(text + length, 256 - (size_t)length, "%lu %lu 1\n", low, high);
  if (high > low + 1) length += snprintf(text + length, 256 - (size_t)length, "%lu %lu %lu\n", low + 1, low + 1, high - low - 1);
  length += snprintf(text + length, 256 - (size_t)length, "%lu %lu 1\n", high, low);
  if (high + 1 < NO_USER) snprintf(text + length, 256 - (size_t)length, "%lu %lu %lu\n", high + 1, high + 1, NO_USER - high - 1);
}

static void write_map(pid_t holder, const char *which, const char *text) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", (int)holder, which);
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0 || write(file, text, strlen(text)) < 0) fail("owner map", "cannot write %s: %s", which, strerror(errno));
  close(file);
}

static void write_maps(pid_t holder, const void *context) {
  char text[256];
  spell(*(const struct owner_map *)context, text);
  write_map(holder, "uid_map", text);
  write_map(holder, "gid_map", text);
}

int owner_map_open(struct owner_map map) {
  if (map.on_disk == map.shown || map.shown >= NO_USER || map.on_disk >= NO_USER) fail("owner map", "%u cannot be shown as %u", map.on_disk, map.shown);
  return held_namespace_open("owner map", write_maps, &map);
}

void try_owner_map(struct owner_map map, char **paths, int count) {
  int namespace = owner_map_open(map);
  for (int i = 0; i < count; i++) {
    const struct source source = {.path_or_options = paths[i], .is_mapped = true};
    close(staging_copy_mount(&source, staging_open(paths[i]), namespace));
  }
}
