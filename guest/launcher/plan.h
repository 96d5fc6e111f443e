/*
 * The plan: what the server asks this launcher to do, read from the command line.
 *
 * The launcher decides nothing about isolation. The server renders the whole jail as flags; the launcher does the few
 * things that a Node process cannot: join cgroups before the first instruction, hold a listening socket open across
 * exec, stage mount sources in a private mount namespace, and write another user namespace's id maps.
 */
#ifndef HOLDFAST_LAUNCHER_PLAN_H
#define HOLDFAST_LAUNCHER_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum {
  MAX_CGROUPS = 8,
  MAX_LIMITS = 32,
  MAX_SOURCES = 256,
  /*
   * File descriptors that the jail program inherits; the server renders its flags with the same numbers. The pipe that
   * holds back a new user namespace is stdin, because bubblewrap does not close it: at its end it is as good as /dev/null.
   */
  FD_USERNS_BLOCK = 0,
  FD_LISTEN = 3,
  FD_INFO = 4,
  FD_STATUS = 5,
  FD_FIRST_SOURCE = 10,
};

/* One file of one cgroup directory, e.g. memory.max. */
struct limit {
  size_t cgroup;
  const char *file;
  const char *value;
  bool optional;
};

/* Shown inside: a path of the host, or a fresh tmpfs (only when staged). */
struct source {
  bool is_tmpfs;
  bool is_read_only;
  const char *path_or_options;
  /* An overlay: the path is its lower directory, and changes go to `upper` below this directory. NULL: the path itself is shown. */
  const char *layer;
  /* Owners on disk and the owners they are shown as, in lines of uid_map (owner-map.h). NULL: as they are. */
  const char *owners;
  /* Bound at this relative path below an earlier source instead of in the staging directory itself; NULL otherwise. */
  const char *below_path;
  size_t below_source;
};

enum init_discovery { INIT_BY_INFO_FD, INIT_BY_CHILDREN };
enum staging_kind { STAGE_NOT, STAGE_AS_ROOT, STAGE_IN_USER_NAMESPACE };

struct plan {
  pid_t parent;
  const char *state_directory;
  const char *cgroups[MAX_CGROUPS];
  size_t cgroup_count;
  struct limit limits[MAX_LIMITS];
  size_t limit_count;
  struct source sources[MAX_SOURCES];
  size_t source_count;
  enum staging_kind staging;
  const char *staging_directory;
  bool has_jail_user;
  uid_t jail_user;
  const char *id_map;
  enum init_discovery init_discovery;
  const char *network_program;
  unsigned long open_files;
  /* NULL: as many as the machine has. */
  const char *terminals;
  /* Of a server that is not root: the kernel charges all its sandboxes to its user too. */
  bool bounds_counts;
  /* A packed sandbox: the guest's group on the host, which alone sees every process. */
  bool hides_processes;
  gid_t guest_group;
  char **jail_argv;
};

/* A whole decimal number; ends the program with a report otherwise. */
unsigned long plan_number(const char *text);

/* Ends the program with a report when the command line is not a plan. */
void plan_parse(struct plan *plan, int argc, char **argv);

#endif
