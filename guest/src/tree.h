/*
 * Processes, read from /proc: who descends from whom, who belongs to a user, and a signal to all of them.
 */
#ifndef HOLDFAST_TREE_H
#define HOLDFAST_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct pid_list {
  pid_t *pids;
  size_t count, room;
};

/* Fills `list` with every living descendant of `root` (not `root` itself, no zombies); `skip` may veto a child of root. */
bool tree_descendants(pid_t root, bool (*skip)(pid_t child), struct pid_list *list);
void pid_list_free(struct pid_list *list);

/*
 * One round against a tree that may fork faster than it is read: stop all until a reading finds nobody new (stopped
 * processes keep their places in the pid limit and cannot fork), then SIGKILL. Returns how many were killed.
 */
size_t tree_kill_round(pid_t root, bool (*skip)(pid_t child));

/* Fills `list` with every living process that has this uid as any of its four, whoever its parent is. */
bool user_processes(uid_t uid, struct pid_list *list);
/* One such round against everything of a user. */
size_t user_kill_round(uid_t uid);

#endif
