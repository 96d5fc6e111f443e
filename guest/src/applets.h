/*
 * Applets: the file operations of a sandbox, as small programs inside the guest's own binary.
 *
 * They run like any command, as the sandbox's user, so a path means exactly what it means to a program there. Each
 * returns 0 or an errno as its exit code, with one sentence on stderr. docs/guest-protocol.md lists them.
 */
#ifndef HOLDFAST_APPLETS_H
#define HOLDFAST_APPLETS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

typedef int applet(int argc, char **argv);

applet applet_read, applet_write, applet_stat, applet_list, applet_mkdir, applet_move, applet_remove, applet_chmod,
  applet_chown, applet_glob, applet_grep, applet_watch, applet_stats, applet_measure, applet_give, applet_point;

/* Runs the applet of that name, or returns -1. */
int applet_run(const char *name, int argc, char **argv);

/* --- output.c: buffered records on stdout, and failures --- */

void put_bytes(const void *bytes, size_t length);
/* A NUL-terminated record string. */
void put_string(const char *text);
void put_entry(const char *path, int directory, const char *name, const struct stat *status);
/* There is more; `by` says what ran out. */
void put_truncated(const char *by);
/* How many there are, shown or not. */
void put_total(long total);
void put_flush(void);
/* Says `what: path: reason` and returns errno, for `return fail(...)`. */
int fail(const char *what, const char *path);
int fail_with(int error, const char *what, const char *path);
bool has_flag(const char *flags, char flag);

/* --- walk.c: directory trees in order --- */

struct walk {
  long limit;             /* of what the visitor finds, which then cuts the walk */
  long entries, seen;     /* so many are looked at, then the walk is cut; 0: no bound */
  int max_depth;
  bool skips_ignored;     /* .git, node_modules and the like */
  const char *cut_by;     /* what ran out; NULL: the walk came to its end */
  /* Called for every entry; `relative` is the path below the root. False: do not descend. */
  bool (*visit)(struct walk *walk, int directory, const char *name, const char *path, const char *relative, const struct stat *status);
  void *context;
};

/* Ends the walk; false, for `return walk_cut(...)`. The first reason stays. */
bool walk_cut(struct walk *walk, const char *by);
/* Pre-order, names sorted, symlinks never followed. 0 or an errno for the root itself. */
int walk_tree(const char *root, struct walk *walk);

/* --- pattern.c --- */

/* Matches a relative path: * ? [a-z] [!a] {a,b} and ** across directories. */
bool pattern_matches(const char *pattern, const char *path);
/* For directories: could something below `path` match? Keeps a glob from walking the whole tree. */
bool pattern_may_match_below(const char *pattern, const char *path);

#endif
