/*
 * Counts: things of which the kernel gives each user, or the whole machine, a number.
 *
 * `take-all KIND` takes them until it is refused, says "held: full" and keeps them until it is killed; `take-one KIND` needs one.
 */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* Each process may have only so many descriptors, so several take them; the last one finds not a single one left. */
enum { MOST_PROCESSES = 48, SPARE_DESCRIPTORS = 16, DESCRIPTORS_PER_MESSAGE = 253 };

static bool take_inotify(void) { return inotify_init1(IN_CLOEXEC) >= 0; }

static bool take_terminal(void) { return open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC) >= 0; }

static bool take_queue(void) {
  static int made;
  char name[64];
  snprintf(name, sizeof name, "/taken-%d-%d", (int)getpid(), made++);
  return mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, NULL) >= 0;
}

/* The kernel counts the pages that pipes may hold, and lets no pipe grow once the user has enough. */
static bool take_pipe(void) {
  int ends[2];
  return pipe2(ends, O_CLOEXEC) == 0 && fcntl(ends[1], F_SETPIPE_SZ, 1 << 20) >= 0;
}

/* One message, sent and never received: its descriptors are in flight. */
static bool take_flight(void) {
  static int ends[2] = {-1, -1};
  static int null = -1;
  if (null < 0) null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (ends[0] < 0 && socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) return false;
  char byte = 'x';
  struct iovec content = {.iov_base = &byte, .iov_len = 1};
  union {
    struct cmsghdr header;
    char space[CMSG_SPACE(DESCRIPTORS_PER_MESSAGE * sizeof(int))];
  } control;
  memset(&control, 0, sizeof control);
  struct msghdr message = {.msg_iov = &content, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control.space};
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(DESCRIPTORS_PER_MESSAGE * sizeof(int));
  for (int index = 0; index < DESCRIPTORS_PER_MESSAGE; index++) memcpy(CMSG_DATA(header) + (size_t)index * sizeof(int), &null, sizeof null);
  if (sendmsg(ends[0], &message, 0) == 1) return true;
  if (errno != EAGAIN) return false;
  /* The queue of this pair is full, and the count of the user is not. */
  if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) return false;
  return sendmsg(ends[0], &message, 0) == 1;
}

static const struct {
  const char *name;
  bool (*take)(void);
} KINDS[] = {{"inotify", take_inotify}, {"queues", take_queue}, {"flight", take_flight}, {"pipes", take_pipe}, {"terminals", take_terminal}};

static bool (*find(const char *name))(void) {
  for (size_t index = 0; index < sizeof KINDS / sizeof *KINDS; index++) {
    if (strcmp(KINDS[index].name, name) == 0) return KINDS[index].take;
  }
  return NULL;
}

/* How many one process gets; it keeps them, and is told to end by the end of the tree. */
static long in_process(bool (*take)(void), long most) {
  int ends[2];
  long taken = 0;
  if (pipe(ends) != 0) return -1;
  pid_t child = fork();
  if (child < 0) return -1;
  if (child == 0) {
    while (taken < most && take()) taken++;
    if (write(ends[1], &taken, sizeof taken) != sizeof taken) _exit(1);
    for (;;) pause();
  }
  close(ends[1]);
  if (read(ends[0], &taken, sizeof taken) != sizeof taken) taken = -1;
  close(ends[0]);
  return taken;
}

static int take_all(int count, char **arguments) {
  (void)count;
  bool (*take)(void) = find(arguments[0]);
  struct rlimit files;
  if (take == NULL || getrlimit(RLIMIT_NOFILE, &files) != 0) return unable("there is no %s to take", arguments[0]);
  long total = 0;
  for (int process = 0; process < MOST_PROCESSES; process++) {
    long taken = in_process(take, (long)files.rlim_cur - SPARE_DESCRIPTORS);
    if (taken < 0) return unable("cannot start a process: %s", strerror(errno));
    if (taken == 0) break;
    total += taken;
  }
  held("full: %ld", total);
  for (;;) pause();
  return EXIT_UNABLE;
}

static int take_one(int count, char **arguments) {
  (void)count;
  bool (*take)(void) = find(arguments[0]);
  if (take == NULL) return unable("there is no %s to take", arguments[0]);
  return take() ? held("got one") : broken("got none: %s", strerror(errno));
}

const struct attack COUNT_ATTACKS[] = {{"take-all", take_all, 1}, {"take-one", take_one, 1}, {NULL, NULL, 0}};
