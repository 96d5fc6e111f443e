/* Inlets: what the server sends towards a program, at the program's own pace and never beyond the granted credit. */
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* Grant in large steps: a chatty program must not cost a frame per line. */
#define CREDIT_STEP 65536u

static void account(struct inlet *inlet, size_t taken) {
  inlet->taken += (uint32_t)taken;
  if (inlet->taken >= CREDIT_STEP) execution_wake_readers(inlet->execution);
}

static void finish(struct inlet *inlet) {
  struct execution *execution = inlet->execution;
  if (execution->is_tcp) shutdown(inlet->watch.fd, SHUT_WR);
  if (execution->has_terminal) {
    /* End of file on a terminal is a character; more may be typed after it. */
    ssize_t written = write(inlet->watch.fd, "\x04", 1);
    (void)written;
    inlet->is_ending = false;
    return;
  }
  inlet_close(inlet);
  if (execution->is_tcp) execution_settle(execution);
}

static void on_ready(struct watch *watch, uint32_t events) {
  struct inlet *inlet = (struct inlet *)(void *)watch;
  (void)events;
  while (inlet->length > 0) {
    ssize_t written = write(watch->fd, inlet->pending + inlet->start, inlet->length);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) return;
    if (written < 0) {
      /* The program closed its stdin: like a pipe, the rest goes nowhere. */
      account(inlet, inlet->length);
      inlet_close(inlet);
      return;
    }
    inlet->start += (size_t)written;
    inlet->length -= (size_t)written;
    account(inlet, (size_t)written);
  }
  free(inlet->pending);
  inlet->pending = NULL;
  inlet->room = inlet->start = 0;
  watch_disarm(watch);
  if (inlet->is_ending) finish(inlet);
}

/* Room for `length` more bytes behind those that wait. The credit bounds it. */
static bool make_room(struct inlet *inlet, size_t length) {
  if (inlet->start + inlet->length + length <= inlet->room) return true;
  if (inlet->start > 0) memmove(inlet->pending, inlet->pending + inlet->start, inlet->length);
  inlet->start = 0;
  if (inlet->length + length <= inlet->room) return true;
  /* The first time that the program is too slow, its pipe is widened too: fewer switches per byte. */
  if (!inlet->pending) fcntl(inlet->watch.fd, F_SETPIPE_SZ, ROOMY_PIPE);
  size_t room = inlet->room ? inlet->room : 65536;
  while (room < inlet->length + length) room *= 2;
  uint8_t *moved = realloc(inlet->pending, room);
  if (!moved) return false;
  inlet->pending = moved;
  inlet->room = room;
  return true;
}

void inlet_open(struct inlet *inlet, struct execution *execution, int fd) {
  *inlet = (struct inlet){.watch = {.fd = fd, .ready = on_ready}, .execution = execution, .credit = STDIN_CREDIT};
}

bool inlet_write(struct inlet *inlet, const uint8_t *bytes, size_t length) {
  if (length > inlet->credit) return false;
  inlet->credit -= (uint32_t)length;
  if (inlet->watch.fd < 0 || inlet->is_ending) {
    account(inlet, length);
    return true;
  }
  while (length > 0 && inlet->length == 0) {
    ssize_t written = write(inlet->watch.fd, bytes, length);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) break;
    if (written < 0) {
      account(inlet, length);
      inlet_close(inlet);
      return true;
    }
    bytes += written;
    length -= (size_t)written;
    account(inlet, (size_t)written);
  }
  if (length == 0) return true;
  if (!make_room(inlet, length)) return false;
  memcpy(inlet->pending + inlet->start + inlet->length, bytes, length);
  inlet->length += length;
  if (!inlet->watch.is_armed) watch_arm(&inlet->watch, EPOLLOUT);
  return true;
}

void inlet_end(struct inlet *inlet) {
  if (inlet->watch.fd < 0 || inlet->is_ending) return;
  inlet->is_ending = true;
  if (inlet->length == 0) finish(inlet);
}

void inlet_close(struct inlet *inlet) {
  free(inlet->pending);
  inlet->pending = NULL;
  inlet->room = inlet->start = inlet->length = 0;
  watch_close(&inlet->watch);
}
