/*
 * Queues of the kernel: memory that a program fills by sending what nobody receives. What counts is what the kernel holds, not the bytes
 * that were sent, so each socket is asked for its own account (SO_MEMINFO).
 */
#include "attack.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SO_MEMINFO
#define SO_MEMINFO 55
#endif

/* Each process may hold this many sockets before its child goes on; the findings needed two to five processes. */
enum { PROCESSES = 4, MANY_PROCESSES = 14, SOCKETS = 960 };
/* A pace below what any machine can do: how much is queued before the server notices must not depend on its speed. */
enum { SOCKETS_BETWEEN_PAUSES = 32, PAUSE_NS = 10 * 1000 * 1000 };

static char block[1 << 16];

static uint64_t account(int socket, int field) {
  uint32_t fields[SK_MEMINFO_VARS] = {0};
  socklen_t size = sizeof fields;
  return getsockopt(socket, SOL_SOCKET, SO_MEMINFO, fields, &size) == 0 ? fields[field] : 0;
}

/* Sends until the socket takes no more; a size that does not fit any more is halved. */
static void fill_stream(int socket) {
  size_t size = sizeof block;
  while (size > 0) {
    ssize_t sent = send(socket, block, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent <= 0) size /= 2;
  }
}

/* Loopback delivers while it sends, so a filled queue stops growing at once. */
static int fill_tcp(uint64_t *held_bytes) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  int client = socket(AF_INET, SOCK_STREAM, 0);
  if (listener < 0 || client < 0) return -1;
  if (bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 1) != 0) return -1;
  if (getsockname(listener, (struct sockaddr *)&address, &size) != 0 || connect(client, (struct sockaddr *)&address, size) != 0) return -1;
  int accepted = accept(listener, NULL, NULL);
  if (accepted < 0) return -1;
  close(listener);
  fill_stream(client);
  fill_stream(accepted);
  *held_bytes += account(client, SK_MEMINFO_RMEM_ALLOC) + account(client, SK_MEMINFO_WMEM_QUEUED);
  *held_bytes += account(accepted, SK_MEMINFO_RMEM_ALLOC) + account(accepted, SK_MEMINFO_WMEM_QUEUED);
  return 2;
}

static int fill_udp(uint64_t *held_bytes) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  int receiver = socket(AF_INET, SOCK_DGRAM, 0);
  if (receiver < 0) return -1;
  int requested = 1 << 30;
  setsockopt(receiver, SOL_SOCKET, SO_RCVBUF, &requested, sizeof requested);
  if (bind(receiver, (struct sockaddr *)&address, size) != 0 || getsockname(receiver, (struct sockaddr *)&address, &size) != 0) return -1;
  if (connect(receiver, (struct sockaddr *)&address, size) != 0) return -1;
  /* What does not fit is dropped in silence; more of it than a queue can hold is sent. */
  for (int count = 0; count < 1024; count++) {
    if (send(receiver, block, 32 << 10, MSG_DONTWAIT) < 0) break;
    if (account(receiver, SK_MEMINFO_DROPS) > 0) break;
  }
  *held_bytes += account(receiver, SK_MEMINFO_RMEM_ALLOC);
  return 1;
}

static int fill_netlink(int protocol, uint64_t *held_bytes) {
  struct sockaddr_nl self = {.nl_family = AF_NETLINK};
  socklen_t size = sizeof self;
  int socket_ = socket(AF_NETLINK, SOCK_RAW, protocol);
  if (socket_ < 0) return -1;
  int requested = 1 << 30;
  setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &requested, sizeof requested);
  if (bind(socket_, (struct sockaddr *)&self, size) != 0 || getsockname(socket_, (struct sockaddr *)&self, &size) != 0) return -1;
  if (protocol == NETLINK_ROUTE) {
    struct {
      struct nlmsghdr header;
      struct ifinfomsg link;
    } request = {.header = {.nlmsg_len = sizeof request, .nlmsg_type = RTM_GETLINK, .nlmsg_flags = NLM_F_REQUEST}, .link = {.ifi_index = 1}};
    for (int count = 0; count < 4096; count++)
      if (send(socket_, &request, sizeof request, MSG_DONTWAIT) < 0) break;
  } else {
    for (int count = 0; count < 4096; count++)
      if (sendto(socket_, block, 16 << 10, MSG_DONTWAIT, (struct sockaddr *)&self, sizeof self) < 0) break;
  }
  *held_bytes += account(socket_, SK_MEMINFO_RMEM_ALLOC);
  return 1;
}
static int fill_route(uint64_t *held_bytes) { return fill_netlink(NETLINK_ROUTE, held_bytes); }
static int fill_usersock(uint64_t *held_bytes) { return fill_netlink(NETLINK_USERSOCK, held_bytes); }

static int fill_unix(int type, uint64_t *held_bytes) {
  int ends[2];
  if (socketpair(AF_UNIX, type, 0, ends) != 0) return -1;
  fill_stream(ends[0]);
  fill_stream(ends[1]);
  *held_bytes += account(ends[0], SK_MEMINFO_WMEM_ALLOC) + account(ends[1], SK_MEMINFO_WMEM_ALLOC);
  return 2;
}
static int fill_unix_stream(uint64_t *held_bytes) { return fill_unix(SOCK_STREAM, held_bytes); }
static int fill_unix_datagram(uint64_t *held_bytes) { return fill_unix(SOCK_DGRAM, held_bytes); }

static int fill_pipe(uint64_t *held_bytes) {
  int ends[2];
  if (pipe2(ends, O_NONBLOCK) != 0) return -1;
  for (ssize_t written = 1; written > 0; written = write(ends[1], block, 4096))
    if (written > 1) *held_bytes += (uint64_t)written;
  return 2;
}

static const struct {
  const char *name;
  /* One more queue, filled: how many descriptors it has, or -1. */
  int (*fill)(uint64_t *held_bytes);
} KINDS[] = {
    {"TCP connections", fill_tcp},        {"UDP sockets", fill_udp},
    {"netlink answers", fill_route},      {"netlink messages", fill_usersock},
    {"unix streams", fill_unix_stream},   {"unix datagrams", fill_unix_datagram},
    {"pipes", fill_pipe},
};

/* Until the kernel gives no more; broken when it holds more than the limit. */
static int fill_until_refused(const char *name, uint64_t limit, int processes, int is_paced) {
  size_t kind = 0;
  while (kind < sizeof KINDS / sizeof *KINDS && strcmp(KINDS[kind].name, name) != 0) kind++;
  if (kind == sizeof KINDS / sizeof *KINDS) return unable("no queue is named %s", name);
  uint64_t held_bytes = 0;
  int first = dup(STDOUT_FILENO), reason = 0;
  for (int process = 0; process < processes; process++) {
    for (int sockets = 0; sockets < SOCKETS;) {
      int made = KINDS[kind].fill(&held_bytes);
      reason = errno;
      if (held_bytes > limit) return broken("%llu bytes are queued", (unsigned long long)held_bytes);
      if (made < 0) break;
      sockets += made;
      if (is_paced && sockets % SOCKETS_BETWEEN_PAUSES == 0) nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    /* The child goes on; this process keeps what it has until the child has ended. */
    fflush(stdout);
    pid_t child = fork();
    if (child < 0) break;
    if (child > 0) {
      int status = 0;
      waitpid(child, &status, 0);
      return WIFEXITED(status) ? WEXITSTATUS(status) : held("the process that filled more was killed");
    }
    close_range((unsigned)first, ~0u, 0);
  }
  return held("%llu bytes are queued, then: %s", (unsigned long long)held_bytes, strerror(reason));
}

/* fill-queues KIND LIMIT_BYTES */
static int fill_queues(int count, char **arguments) {
  (void)count;
  return fill_until_refused(arguments[0], strtoull(arguments[1], NULL, 10), PROCESSES, 0);
}

/* fill-many-connections LIMIT_BYTES: TCP connections with 13,440 sockets. */
static int fill_many_connections(int count, char **arguments) {
  (void)count;
  return fill_until_refused("TCP connections", strtoull(arguments[0], NULL, 10), MANY_PROCESSES, 1);
}

const struct attack QUEUE_ATTACKS[] = {
    {"fill-queues", fill_queues, 2},
    {"fill-many-connections", fill_many_connections, 1},
    {NULL, NULL, 0},
};
