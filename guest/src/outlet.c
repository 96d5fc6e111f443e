/* Outlets: from a program's pipe, terminal or socket into its journal, at the pace of the slowest attached reader. */
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Read per event, so that one noisy program does not starve the others. */
#define QUOTA 262144u

static uint8_t scratch[65536];

static uint64_t held_from(const struct execution *execution) {
  uint64_t held = UINT64_MAX;
  for (struct stream *reader = execution->readers; reader; reader = reader->next_of_execution)
    if (reader->acknowledged < held) held = reader->acknowledged;
  return held;
}

static void on_ready(struct watch *watch, uint32_t events) {
  (void)events;
  outlet_pump((struct outlet *)(void *)watch);
}

void outlet_open(struct outlet *outlet, struct execution *execution, int fd, uint8_t channel) {
  *outlet = (struct outlet){
    .watch = {.fd = fd, .ready = on_ready}, .execution = execution, .channel = channel,
  };
  watch_arm(&outlet->watch, EPOLLIN);
}

static void outlet_end(struct outlet *outlet) {
  struct execution *execution = outlet->execution;
  outlet->is_dry = true;
  watch_close(&outlet->watch);
  if (execution->is_tcp) {
    execution->peer_sent_fin = true;
    execution_wake_readers(execution);
  }
  execution_settle(execution);
}

/* Output after the end belongs to nobody; it is read so that what lives on neither blocks nor dies of SIGPIPE. */
static void discard(struct outlet *outlet) {
  ssize_t got = read(outlet->watch.fd, scratch, sizeof scratch);
  if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR))) return;
  outlet_end(outlet);
}

/* A program that fills its pipe again and again gets a larger one: fewer switches per byte. */
static void widen(struct outlet *outlet, size_t got) {
  outlet->full_reads = got >= 65536 ? outlet->full_reads + 1 : 0;
  if (outlet->full_reads == 4) fcntl(outlet->watch.fd, F_SETPIPE_SZ, ROOMY_PIPE);
}

void outlet_pump(struct outlet *outlet) {
  struct execution *execution = outlet->execution;
  if (outlet->watch.fd < 0) return;
  if (execution->is_finished) {
    discard(outlet);
    return;
  }
  uint64_t held = held_from(execution);
  for (size_t total = 0; total < QUOTA;) {
    size_t room;
    uint8_t *place = journal_room(&execution->journal, held, &room);
    if (room == 0) {
      watch_disarm(&outlet->watch);
      outlet->is_blocked = true;
      break;
    }
    if (execution->has_exited && outlet->drain_left >= 0 && room > (size_t)outlet->drain_left)
      room = (size_t)outlet->drain_left;
    if (room == 0) {
      outlet->is_dry = true;
      break;
    }
    ssize_t got = read(outlet->watch.fd, place, room);
    if (got > 0) {
      journal_append(&execution->journal, (size_t)got, outlet->channel);
      total += (size_t)got;
      widen(outlet, (size_t)got);
      if (execution->has_exited && outlet->drain_left > 0) outlet->drain_left -= (int)got;
      if (execution->settle_us) execution->settle_us = now_us() + 20000;
      continue;
    }
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {
      if (execution->has_exited && outlet->drain_left >= 0) outlet->is_dry = true;
      break;
    }
    execution_wake_readers(execution);
    outlet_end(outlet);
    return;
  }
  execution_wake_readers(execution);
  if (execution->has_exited) execution_settle(execution);
}

void outlet_unblock(struct outlet *outlet) {
  if (!outlet->is_blocked || outlet->watch.fd < 0) return;
  outlet->is_blocked = false;
  watch_arm(&outlet->watch, EPOLLIN);
  outlet_pump(outlet);
}
