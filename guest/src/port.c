/* CONNECT: a TCP stream to a port inside, made here because the server may have no way into this network. */
#include "guest.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define PORT_JOURNAL_BYTES 262144u

/* IPv4 loopback first, then IPv6: servers listen on either. Returns a connecting socket, or -1. */
static int dial(uint16_t port, bool v6) {
  int fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  struct sockaddr_in address4 = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  struct sockaddr_in6 address6 = {.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
  int result = v6 ? connect(fd, (struct sockaddr *)&address6, sizeof address6)
                  : connect(fd, (struct sockaddr *)&address4, sizeof address4);
  if (result == 0 || errno == EINPROGRESS) return fd;
  int error = errno;
  close(fd);
  errno = error;
  return -1;
}

static void refuse(struct execution *e, int error) {
  for (struct stream *reader = e->readers; reader; reader = reader->next_of_execution) {
    reader->error = error;
    strncpy(reader->message, "cannot connect to the port", sizeof reader->message - 1);
    stream_wake(reader);
  }
  e->has_started = e->peer_sent_fin = true;
  inlet_close(&e->inlet);
  execution_settle(e);
}

static void on_connected(struct watch *watch, uint32_t events);

/* Hands a socket to the execution and waits until it is connected. `control` does the waiting. */
static void await(struct execution *e, int fd) {
  e->control = (struct watch){.fd = fd, .ready = on_connected};
  watch_arm(&e->control, EPOLLOUT);
}

static void on_connected(struct watch *watch, uint32_t events) {
  struct execution *e = (struct execution *)(void *)((char *)watch - offsetof(struct execution, control));
  (void)events;
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(watch->fd, SOL_SOCKET, SO_ERROR, &error, &length);
  if (error) {
    watch_close(watch);
    int fd = e->has_tried_v6 ? -1 : dial(e->port, true);
    e->has_tried_v6 = true;
    if (fd >= 0) await(e, fd);
    else refuse(e, error);
    return;
  }
  int reading = watch->fd, writing = fcntl(watch->fd, F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
  watch_disarm(watch);
  watch->fd = -1;
  if (writing < 0) {
    close(reading);
    refuse(e, EMFILE);
    return;
  }
  e->has_started = true;
  inlet_open(&e->inlet, e, writing);
  outlet_open(&e->outlets[0], e, reading, CHANNEL_STDOUT);
  execution_wake_readers(e);
}

bool request_connect(struct connection *c, const struct frame_header *header, const uint8_t *payload) {
  uint16_t port = 0;
  uint32_t window = 0;
  struct field_reader reader = {payload, payload + header->length};
  struct field field;
  int result;
  while ((result = field_next(&reader, &field)) == 1) {
    bool is_sound = field.tag == TAG_PORT ? field_u16(&field, &port) : field.tag == TAG_WINDOW && field_u32(&field, &window);
    if (!is_sound) return false;
  }
  if (result != 0) return false;
  if (executions_live() >= MAX_EXECUTIONS) {
    connection_end_stream(c, header->stream, EAGAIN, "too many executions and connections in this sandbox");
    return true;
  }
  struct execution *e = port ? execution_new(PORT_JOURNAL_BYTES) : NULL;
  struct stream *s = e ? stream_open(c, e, header->stream, window) : NULL;
  if (!s) {
    if (e) execution_discard(e);
    connection_end_stream(c, header->stream, port ? ENOMEM : EINVAL, "cannot connect to the port");
    return true;
  }
  e->is_tcp = e->is_ephemeral = true;
  e->port = port;
  int fd = dial(port, false);
  if (fd < 0) {
    e->has_tried_v6 = true;
    fd = dial(port, true);
  }
  if (fd >= 0) await(e, fd);
  else refuse(e, errno);
  return true;
}
