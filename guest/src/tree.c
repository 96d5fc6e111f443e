#include "tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STOP_PASSES 16

struct kin {
  pid_t pid, parent;
  bool belongs;
};

/* Parent and state of one process; false when it is gone or a zombie. */
static bool read_parent(int proc, const char *name, pid_t *parent) {
  char path[32], text[512];
  snprintf(path, sizeof path, "%.16s/stat", name);
  int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  if (length <= 0) return false;
  text[length] = 0;
  /* The name may contain anything, parentheses too: the state stands after the last one. */
  const char *after = strrchr(text, ')');
  char state;
  if (!after || sscanf(after + 1, " %c %d", &state, parent) != 2) return false;
  return state != 'Z' && state != 'X';
}

static bool add_kin(struct kin **all, size_t *count, size_t *room, struct kin one) {
  if (*count == *room) {
    size_t larger = *room ? *room * 2 : 128;
    struct kin *moved = realloc(*all, larger * sizeof **all);
    if (!moved) return false;
    *all = moved;
    *room = larger;
  }
  (*all)[(*count)++] = one;
  return true;
}

static bool add_pid(struct pid_list *list, pid_t pid) {
  if (list->count == list->room) {
    size_t larger = list->room ? list->room * 2 : 64;
    pid_t *moved = realloc(list->pids, larger * sizeof *moved);
    if (!moved) return false;
    list->pids = moved;
    list->room = larger;
  }
  list->pids[list->count++] = pid;
  return true;
}

void pid_list_free(struct pid_list *list) {
  free(list->pids);
  *list = (struct pid_list){0};
}

bool tree_descendants(pid_t root, bool (*skip)(pid_t), struct pid_list *list) {
  list->count = 0;
  DIR *proc = opendir("/proc");
  if (!proc) return false;
  struct kin *all = NULL;
  size_t count = 0, room = 0;
  bool complete = true;
  for (struct dirent *entry; complete && (entry = readdir(proc));) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    struct kin one = {.pid = (pid_t)strtol(entry->d_name, NULL, 10)};
    if (!read_parent(dirfd(proc), entry->d_name, &one.parent)) continue;
    complete = add_kin(&all, &count, &room, one);
  }
  closedir(proc);
  /* Parents may come after their children in the listing: mark until nothing changes. */
  for (bool changed = complete; changed;) {
    changed = false;
    for (size_t i = 0; i < count; i++) {
      if (all[i].belongs) continue;
      bool belongs = all[i].parent == root && !(skip && skip(all[i].pid));
      for (size_t k = 0; !belongs && k < count; k++) belongs = all[k].belongs && all[k].pid == all[i].parent;
      if (belongs) all[i].belongs = changed = true;
    }
  }
  for (size_t i = 0; complete && i < count; i++)
    if (all[i].belongs) complete = add_pid(list, all[i].pid);
  free(all);
  return complete;
}

static bool contains(const struct pid_list *list, pid_t pid) {
  for (size_t i = 0; i < list->count; i++)
    if (list->pids[i] == pid) return true;
  return false;
}

/* Whether a living process has the uid as its real, effective, saved or file system one. */
static bool belongs_to(int proc, const char *name, uid_t uid) {
  char path[32], text[1024];
  snprintf(path, sizeof path, "%.16s/status", name);
  int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  if (length <= 0) return false;
  text[length] = 0;
  /* The name comes first and is the program's to choose, but the kernel escapes its line breaks. */
  const char *state = strstr(text, "\nState:\t"), *ids = strstr(text, "\nUid:\t");
  unsigned id[4];
  if (!state || !ids || state[8] == 'Z' || state[8] == 'X') return false;
  if (sscanf(ids, "\nUid:\t%u\t%u\t%u\t%u", &id[0], &id[1], &id[2], &id[3]) != 4) return false;
  return id[0] == uid || id[1] == uid || id[2] == uid || id[3] == uid;
}

bool user_processes(uid_t uid, struct pid_list *list) {
  list->count = 0;
  DIR *proc = opendir("/proc");
  if (!proc) return false;
  bool complete = true;
  for (struct dirent *entry; complete && (entry = readdir(proc));) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    if (belongs_to(dirfd(proc), entry->d_name, uid)) complete = add_pid(list, (pid_t)strtol(entry->d_name, NULL, 10));
  }
  closedir(proc);
  return complete;
}

/* Whose end is wanted: a tree, or a user. */
struct prey {
  pid_t root;
  bool (*skip)(pid_t);
  uid_t uid;
};

static bool find_prey(const struct prey *prey, struct pid_list *list) {
  return prey->root ? tree_descendants(prey->root, prey->skip, list) : user_processes(prey->uid, list);
}

static size_t kill_round(const struct prey *prey) {
  struct pid_list found = {0}, stopped = {0};
  for (int pass = 0; pass < STOP_PASSES; pass++) {
    if (!find_prey(prey, &found)) break;
    bool is_news = false;
    for (size_t i = 0; i < found.count; i++) {
      if (contains(&stopped, found.pids[i])) continue;
      kill(found.pids[i], SIGSTOP);
      is_news = add_pid(&stopped, found.pids[i]);
    }
    if (!is_news) break;
  }
  for (size_t i = 0; i < stopped.count; i++) kill(stopped.pids[i], SIGKILL);
  size_t killed = stopped.count;
  pid_list_free(&found);
  pid_list_free(&stopped);
  return killed;
}

size_t tree_kill_round(pid_t root, bool (*skip)(pid_t)) { return kill_round(&(struct prey){.root = root, .skip = skip}); }

size_t user_kill_round(uid_t uid) { return kill_round(&(struct prey){.uid = uid}); }
