/* See plan.h. */
#define _GNU_SOURCE
#include "plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

unsigned long plan_number(const char *text) {
  char *end = NULL;
  errno = 0;
  unsigned long value = strtoul(text, &end, 10);
  if (errno != 0 || end == text || *end != '\0') fail("plan", "'%s' is not a number", text);
  return value;
}

static void add_cgroup(struct plan *plan, const char *directory) {
  if (plan->cgroup_count == MAX_CGROUPS) fail("plan", "more than %d cgroups", MAX_CGROUPS);
  plan->cgroups[plan->cgroup_count++] = directory;
}

static void add_limit(struct plan *plan, const char *file, const char *value, bool optional) {
  if (plan->cgroup_count == 0) fail("plan", "a limit needs a cgroup before it");
  if (plan->limit_count == MAX_LIMITS) fail("plan", "more than %d limits", MAX_LIMITS);
  plan->limits[plan->limit_count++] =
      (struct limit){.cgroup = plan->cgroup_count - 1, .file = file, .value = value, .optional = optional};
}

static void add_source(struct plan *plan, struct source source) {
  if (plan->source_count == MAX_SOURCES) fail("plan", "more than %d mounts", MAX_SOURCES);
  plan->sources[plan->source_count++] = source;
}

static void put_below(struct plan *plan, unsigned long parent, const char *path) {
  if (plan->source_count == 0 || parent >= plan->source_count - 1) fail("plan", "--below needs a source before it and an earlier one to lie below");
  struct source *source = &plan->sources[plan->source_count - 1];
  source->below_source = parent;
  source->below_path = path;
}

static void map_last_source(struct plan *plan, const char *owners) {
  if (plan->source_count == 0) fail("plan", "--owner-map needs a source before it");
  plan->sources[plan->source_count - 1].owners = owners;
}

static void stage(struct plan *plan, enum staging_kind kind, const char *directory) {
  plan->staging = kind;
  plan->staging_directory = directory;
}

/* Takes one flag with its operands from `rest`; answers how many words it took. */
static int take_flag(struct plan *plan, char **rest, int left) {
  const char *flag = rest[0];
  if (left < 2) fail("plan", "%s needs a value", flag);
  const char *value = rest[1];
  if (strcmp(flag, "--limit") == 0 || strcmp(flag, "--optional-limit") == 0) {
    if (left < 3) fail("plan", "%s needs a file and a value", flag);
    add_limit(plan, value, rest[2], flag[2] == 'o');
    return 3;
  }
  if (strcmp(flag, "--below") == 0) {
    if (left < 3) fail("plan", "%s needs a source and a path", flag);
    put_below(plan, plan_number(value), rest[2]);
    return 3;
  }
  if (strcmp(flag, "--overlay") == 0) {
    if (left < 3) fail("plan", "%s needs a lower directory and one for the changes", flag);
    add_source(plan, (struct source){.path_or_options = value, .layer = rest[2]});
    return 3;
  }
  if (strcmp(flag, "--parent") == 0) {
    plan->parent = (pid_t)plan_number(value);
  } else if (strcmp(flag, "--state-directory") == 0) {
    plan->state_directory = value;
  } else if (strcmp(flag, "--cgroup") == 0) {
    add_cgroup(plan, value);
  } else if (strcmp(flag, "--source-ro") == 0) {
    add_source(plan, (struct source){.is_read_only = true, .path_or_options = value});
  } else if (strcmp(flag, "--source-rw") == 0) {
    add_source(plan, (struct source){.path_or_options = value});
  } else if (strcmp(flag, "--tmpfs") == 0) {
    add_source(plan, (struct source){.is_tmpfs = true, .path_or_options = value});
  } else if (strcmp(flag, "--owner-map") == 0) {
    map_last_source(plan, value);
  } else if (strcmp(flag, "--stage-as-root") == 0) {
    stage(plan, STAGE_AS_ROOT, value);
  } else if (strcmp(flag, "--stage-in-user-namespace") == 0) {
    stage(plan, STAGE_IN_USER_NAMESPACE, value);
  } else if (strcmp(flag, "--jail-user") == 0) {
    plan->has_jail_user = true;
    plan->jail_user = (uid_t)plan_number(value);
  } else if (strcmp(flag, "--charged-to") == 0) {
    plan->bounds_counts = strcmp(value, "server") == 0;
  } else if (strcmp(flag, "--id-map") == 0) {
    plan->id_map = value;
  } else if (strcmp(flag, "--init-from") == 0) {
    plan->init_discovery = strcmp(value, "info-fd") == 0 ? INIT_BY_INFO_FD : INIT_BY_CHILDREN;
  } else if (strcmp(flag, "--network-program") == 0) {
    plan->network_program = value;
  } else if (strcmp(flag, "--open-files") == 0) {
    plan->open_files = plan_number(value);
  } else if (strcmp(flag, "--terminals") == 0) {
    plan->terminals = value;
  } else if (strcmp(flag, "--hide-processes") == 0) {
    plan->hides_processes = true;
    plan->guest_group = (gid_t)plan_number(value);
  } else {
    fail("plan", "'%s' is not a flag of the launcher", flag);
  }
  return 2;
}

void plan_parse(struct plan *plan, int argc, char **argv) {
  *plan = (struct plan){.init_discovery = INIT_BY_INFO_FD};
  int at = 1;
  while (at < argc && strcmp(argv[at], "--") != 0) at += take_flag(plan, argv + at, argc - at);
  if (at + 1 >= argc) fail("plan", "the program to run is missing; it follows --");
  plan->jail_argv = argv + at + 1;
  if (plan->state_directory == NULL) fail("plan", "--state-directory is missing");
  if (!plan->has_jail_user) plan->bounds_counts = true;
  if (plan->staging == STAGE_NOT) {
    for (size_t i = 0; i < plan->source_count; i++) {
      const struct source *source = &plan->sources[i];
      const bool is_plain = !source->is_tmpfs && source->below_path == NULL && source->owners == NULL && source->layer == NULL;
      if (!is_plain) fail("plan", "--tmpfs, --overlay, --below and --owner-map need staging");
    }
  }
}
