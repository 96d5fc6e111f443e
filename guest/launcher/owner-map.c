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

static void write_map(pid_t holder, const char *which, const char *text) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", (int)holder, which);
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0 || write(file, text, strlen(text)) < 0) fail("owner map", "cannot write %s: %s", which, strerror(errno));
  close(file);
}

void owner_map_write(pid_t holder, const void *lines) {
  write_map(holder, "uid_map", lines);
  write_map(holder, "gid_map", lines);
}

int owner_map_open(const char *lines) { return held_namespace_open("owner map", owner_map_write, lines); }

void try_owner_map(const char *lines, char **paths, int count) {
  int namespace = owner_map_open(lines);
  for (int i = 0; i < count; i++) {
    const struct source source = {.path_or_options = paths[i], .owners = lines};
    close(staging_copy_mount(&source, staging_open(paths[i]), namespace));
  }
}
