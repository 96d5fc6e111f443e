/* glob: the entries whose path matches, by path or the newest first. */
#include "applets.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct found {
  char *path;
  struct stat status;
};

/* The newest `limit` so far, and as many again that are not sorted out yet. */
struct newest {
  struct found *all;
  size_t count, limit;
};

struct glob {
  const char *pattern;
  bool newest_first;
  struct newest newest;
  long total;
};

static int newer_first(const void *a, const void *b) {
  const struct found *one = a, *other = b;
  struct timespec x = one->status.st_mtim, y = other->status.st_mtim;
  if (x.tv_sec != y.tv_sec) return x.tv_sec > y.tv_sec ? -1 : 1;
  if (x.tv_nsec != y.tv_nsec) return x.tv_nsec > y.tv_nsec ? -1 : 1;
  return strcmp(one->path, other->path);
}

static void keep_newest(struct newest *newest) {
  if (newest->count > 1) qsort(newest->all, newest->count, sizeof *newest->all, newer_first);
  while (newest->count > newest->limit) free(newest->all[--newest->count].path);
}

static bool add_found(struct newest *newest, const char *path, const struct stat *status) {
  if (!newest->all && !(newest->all = calloc(newest->limit * 2, sizeof *newest->all))) return false;
  if (newest->count == newest->limit * 2) keep_newest(newest);
  char *copy = strdup(path);
  if (!copy) return false;
  newest->all[newest->count++] = (struct found){.path = copy, .status = *status};
  return true;
}

static bool glob_visit(struct walk *walk, int directory, const char *name, const char *path, const char *relative, const struct stat *status) {
  struct glob *glob = walk->context;
  if (pattern_matches(glob->pattern, relative)) {
    if (glob->newest_first) {
      if (!add_found(&glob->newest, path, status)) return walk_cut(walk, "memory");
    } else if (walk->limit-- == 0) return walk_cut(walk, "matches");
    else put_entry(path, directory, name, status);
    glob->total++;
  }
  return pattern_may_match_below(glob->pattern, relative);
}

static void put_newest(struct walk *walk, struct glob *glob) {
  struct newest *newest = &glob->newest;
  keep_newest(newest);
  for (size_t i = 0; i < newest->count; i++) {
    put_entry(newest->all[i].path, AT_FDCWD, newest->all[i].path, &newest->all[i].status);
    free(newest->all[i].path);
  }
  if (!walk->cut_by && glob->total > (long)newest->count) walk->cut_by = "matches";
  free(newest->all);
}

int applet_glob(int argc, char **argv) {
  long limit = argc > 3 ? atol(argv[3]) : LONG_MAX;
  const char *flags = argc > 4 ? argv[4] : "";
  struct glob glob = {
    .pattern = argv[2], .newest_first = has_flag(flags, 'n') && limit > 0 && limit <= 100000, .newest = {.limit = (size_t)limit},
  };
  struct walk walk = {
    .max_depth = INT_MAX, .limit = limit, .entries = argc > 5 ? atol(argv[5]) : 0, .skips_ignored = has_flag(flags, 'i'),
    .visit = glob_visit, .context = &glob,
  };
  int error = walk_tree(argv[1], &walk);
  if (error) return fail_with(error, "cannot search", argv[1]);
  if (glob.newest_first) put_newest(&walk, &glob);
  if (walk.cut_by) put_truncated(walk.cut_by);
  if (glob.newest_first) put_total(glob.total);
  return 0;
}
