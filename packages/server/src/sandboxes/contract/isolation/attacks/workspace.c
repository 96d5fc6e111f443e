/* Ways to hold space of a bounded workspace where no name leads to it. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif

/* A removed file of SIZE bytes that only its descriptor leads to. */
static int removed_file(const char *directory, long size) {
  char path[PATH_MAX];
  static char block[1 << 16];
  snprintf(path, sizeof path, "%s/removed", directory);
  int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0 || unlink(path) < 0) return -1;
  memset(block, 1, sizeof block);
  for (long written = 0; written < size; written += (long)sizeof block)
    if (write(file, block, sizeof block) != (ssize_t)sizeof block) return -1;
  return file;
}

static int send_descriptor(int socket, int descriptor) {
  char control[CMSG_SPACE(sizeof descriptor)] = {0};
  struct iovec part = {.iov_base = "x", .iov_len = 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof descriptor);
  memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  return sendmsg(socket, &message, 0) == 1 ? 0 : -1;
}

/* hold-in-flight DIRECTORY COUNT BYTES: files that lie in messages only; then waits. */
static int hold_in_flight(int count, char **arguments) {
  (void)count;
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0) return unable("socketpair: %s", strerror(errno));
  for (int i = 0; i < atoi(arguments[1]); i++) {
    int file = removed_file(arguments[0], atol(arguments[2]));
    if (file < 0 || send_descriptor(pair[0], file) < 0) return unable("send a file: %s", strerror(errno));
    close(file);
  }
  held("in messages");
  for (;;) pause();
}

/* hold-unaccepted DIRECTORY BYTES: one that lies in a connection that nobody accepts; then waits. */
static int hold_unaccepted(int count, char **arguments) {
  (void)count;
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  snprintf(name.sun_path, sizeof name.sun_path, "/tmp/listening");
  int listening = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
  if (bind(listening, (struct sockaddr *)&name, sizeof name) < 0 || listen(listening, 1) < 0) return unable("listen: %s", strerror(errno));
  if (connect(client, (struct sockaddr *)&name, sizeof name) < 0) return unable("connect: %s", strerror(errno));
  int file = removed_file(arguments[0], atol(arguments[1]));
  if (file < 0 || send_descriptor(client, file) < 0) return unable("send a file: %s", strerror(errno));
  close(file);
  held("in a connection");
  for (;;) pause();
}

/* landlock-ruleset: a rule of one would hold any file. */
static int landlock_ruleset(int count, char **arguments) {
  (void)count;
  (void)arguments;
  struct {
    unsigned long long accesses;
  } rules = {.accesses = 1};
  long ruleset = syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0);
  return ruleset < 0 && errno == ENOSYS ? held("no Landlock") : expect_refusal("a Landlock ruleset", ruleset);
}

const struct attack WORKSPACE_ATTACKS[] = {
    {"hold-in-flight", hold_in_flight, 3},
    {"hold-unaccepted", hold_unaccepted, 2},
    {"landlock-ruleset", landlock_ruleset, 0},
    {NULL, NULL, 0},
};
