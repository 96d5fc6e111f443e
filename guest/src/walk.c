/* Directory trees: pre-order, sorted, symlinks never followed, open descriptors bounded by depth. */
#include "applets.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_DEPTH 128

static const char *const IGNORED[] = {".git", "node_modules", "__pycache__", ".venv", "venv", ".tox", "dist", "build"};

static bool is_ignored(const char *name) {
  for (size_t i = 0; i < sizeof IGNORED / sizeof *IGNORED; i++)
    if (strcmp(name, IGNORED[i]) == 0) return true;
  return false;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void free_names(char **names, size_t count) {
  for (size_t i = 0; i < count; i++) free(names[i]);
  free(names);
}

bool walk_cut(struct walk *walk, const char *by) {
  if (!walk->cut_by) walk->cut_by = by;
  return false;
}

/* One more than may still be looked at is enough to know that there are more. */
static char **read_names(DIR *directory, long most, size_t *count) {
  char **names = NULL;
  size_t room = 0;
  *count = 0;
  for (struct dirent *entry; (long)*count <= most && (entry = readdir(directory));) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    if (*count == room) {
      room = room ? room * 2 : 64;
      char **moved = realloc(names, room * sizeof *names);
      if (!moved) break;
      names = moved;
    }
    if (!(names[*count] = strdup(entry->d_name))) break;
    (*count)++;
  }
  if (*count > 1) qsort(names, *count, sizeof *names, by_name);
  return names;
}

static void walk_directory(int fd, const char *path, const char *relative, int depth, struct walk *walk) {
  DIR *directory = fdopendir(fd);
  if (!directory) {
    close(fd);
    return;
  }
  size_t count;
  char **names = read_names(directory, walk->entries ? walk->entries - walk->seen : LONG_MAX - 1, &count);
  for (size_t i = 0; i < count && !walk->cut_by; i++) {
    struct stat status;
    if (walk->entries && walk->seen++ == walk->entries) {
      walk_cut(walk, "entries");
      break;
    }
    if (fstatat(dirfd(directory), names[i], &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    bool is_directory = S_ISDIR(status.st_mode);
    if (walk->skips_ignored && is_directory && is_ignored(names[i])) continue;
    char child[PATH_MAX], child_relative[PATH_MAX];
    int length = snprintf(child, sizeof child, "%s/%s", strcmp(path, "/") == 0 ? "" : path, names[i]);
    int relative_length = snprintf(child_relative, sizeof child_relative, "%s%s%s", relative, relative[0] ? "/" : "", names[i]);
    if (length >= (int)sizeof child || relative_length >= (int)sizeof child_relative) continue;
    bool descends = walk->visit(walk, dirfd(directory), names[i], child, child_relative, &status);
    if (!descends || !is_directory || walk->cut_by || depth >= walk->max_depth || depth >= MAX_DEPTH) continue;
    int below = openat(dirfd(directory), names[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (below >= 0) walk_directory(below, child, child_relative, depth + 1, walk);
  }
  free_names(names, count);
  closedir(directory);
}

int walk_tree(const char *root, struct walk *walk) {
  int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return errno;
  walk_directory(fd, root, "", 1, walk);
  return 0;
}
