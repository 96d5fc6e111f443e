/* Guest: find its socket, speak to it, take its place, or use what it left open. */
#include "attack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* True when something on the other side answers: the guest greets everybody it accepts. */
static bool answers(const char *name, size_t length, bool is_abstract) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (length + 1 > sizeof address.sun_path) return false;
  memcpy(address.sun_path + (is_abstract ? 1 : 0), name, length);
  int connection = socket(AF_UNIX, SOCK_STREAM, 0);
  if (connection < 0) return false;
  socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1);
  if (is_abstract == false && length == 0) return false;
  bool answered = false;
  if (connect(connection, (struct sockaddr *)&address, size) == 0) {
    struct pollfd greeting = {.fd = connection, .events = POLLIN};
    char byte;
    answered = poll(&greeting, 1, 1000) > 0 && read(connection, &byte, 1) == 1;
  }
  int reason = errno;
  close(connection);
  errno = reason;
  return answered;
}

/* connect-unix PATH */
static int connect_unix(int count, char **arguments) {
  (void)count;
  if (answers(arguments[0], strlen(arguments[0]), false)) return broken("%s answered", arguments[0]);
  return held("%s", strerror(errno));
}

static char finding[PATH_MAX];
static int sockets_seen;

static int judge_socket(const char *path, const struct stat *status, int kind, struct FTW *place) {
  (void)kind, (void)place;
  if (strcmp(path, "/proc") == 0 || strcmp(path, "/sys") == 0) return FTW_SKIP_SUBTREE;
  if (!S_ISSOCK(status->st_mode)) return FTW_CONTINUE;
  sockets_seen++;
  if (!answers(path, strlen(path), false)) return FTW_CONTINUE;
  snprintf(finding, sizeof finding, "%s", path);
  return FTW_STOP;
}

/* Every socket in the file system and every name in /proc/net/unix. */
static int find_sockets(int count, char **arguments) {
  (void)count, (void)arguments;
  nftw("/", judge_socket, 64, FTW_PHYS | FTW_ACTIONRETVAL);
  if (finding[0] != '\0') return broken("%s answered", finding);
  FILE *table = fopen("/proc/net/unix", "r");
  if (table == NULL) return unable("/proc/net/unix: %s", strerror(errno));
  char line[1024];
  while (fgets(line, sizeof line, table) != NULL) {
    char *name = strpbrk(line, "@/");
    if (name == NULL) continue;
    name[strcspn(name, "\n")] = '\0';
    sockets_seen++;
    bool is_abstract = name[0] == '@';
    if (answers(name + (is_abstract ? 1 : 0), strlen(name) - (is_abstract ? 1 : 0), is_abstract)) return broken("%s answered", name);
  }
  return held("%d sockets, none of them answers", sockets_seen);
}

/* take-place PATH: removes the guest's socket, or its directory, and listens there instead. */
static int take_place(int count, char **arguments) {
  (void)count;
  char directory[PATH_MAX], moved[PATH_MAX + 8];
  snprintf(directory, sizeof directory, "%s", arguments[0]);
  dirname(directory);
  snprintf(moved, sizeof moved, "%s.moved", directory);
  if (unlink(arguments[0]) == 0) return broken("%s was removed", arguments[0]);
  if (rename(directory, moved) == 0) return broken("%s was moved away", directory);
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", arguments[0]);
  int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  if (bind(listener, (struct sockaddr *)&address, sizeof address) == 0) return broken("%s was taken", arguments[0]);
  return held("%s", strerror(errno));
}

static int use_descriptors(int count, char **arguments) {
  (void)count, (void)arguments;
  DIR *descriptors = opendir("/proc/self/fd");
  if (descriptors == NULL) return unable("/proc/self/fd: %s", strerror(errno));
  for (struct dirent *entry; (entry = readdir(descriptors)) != NULL;) {
    int number = atoi(entry->d_name);
    if (entry->d_name[0] == '.' || number <= 2 || number == dirfd(descriptors)) continue;
    char target[PATH_MAX] = "";
    if (readlinkat(dirfd(descriptors), entry->d_name, target, sizeof target - 1) < 0) continue;
    return broken("descriptor %d is open: %s", number, target);
  }
  return held("only 0, 1 and 2 are open");
}

const struct attack GUEST_ATTACKS[] = {
    {"connect-unix", connect_unix, 1},
    {"find-sockets", find_sockets, 0},
    {"take-place", take_place, 1},
    {"use-descriptors", use_descriptors, 0},
    {NULL, NULL, 0},
};
