/* One epoll loop: dispatch, deadlines, and memory that must outlive the events already delivered. */
#include "guest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#define BATCH 64

static int epoll_fd;
static struct watch child_watch;
static void *deferred[1024];
static size_t deferred_count;

int64_t now_us(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

/* A guest that misses an event is deaf without knowing it. It is the first process, so the sandbox ends, and the server sees it. */
static _Noreturn void end_sandbox(void) {
  dprintf(STDERR_FILENO, "holdfast-guest: cannot watch a descriptor: %s\n", strerror(errno));
  _exit(1);
}

void watch_arm(struct watch *watch, uint32_t events) {
  if (watch->is_armed && watch->events == events) return;
  struct epoll_event event = {.events = events, .data.ptr = watch};
  if (epoll_ctl(epoll_fd, watch->is_armed ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, watch->fd, &event) != 0) end_sandbox();
  watch->is_armed = true;
  watch->events = events;
}

/* Removed rather than masked: a masked descriptor still reports hang-ups, for ever. */
void watch_disarm(struct watch *watch) {
  if (!watch->is_armed) return;
  epoll_ctl(epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
  watch->is_armed = false;
}

void watch_close(struct watch *watch) {
  if (watch->fd < 0) return;
  /* Taken out by hand: a duplicate, or a child that has not closed its copy yet, would keep it registered. */
  watch_disarm(watch);
  close(watch->fd);
  watch->fd = -1;
}

void loop_defer_free(void *memory) {
  /* A full list can only mean more deaths in one batch than events; leaking beats a stale pointer. */
  if (deferred_count < sizeof deferred / sizeof *deferred) deferred[deferred_count++] = memory;
}

static void on_child(struct watch *watch, uint32_t events) {
  (void)events;
  struct signalfd_siginfo info[8];
  while (read(watch->fd, info, sizeof info) > 0) continue;
  executions_reap();
}

void loop_open(void) {
  epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGCHLD);
  sigprocmask(SIG_BLOCK, &mask, NULL);
  signal(SIGPIPE, SIG_IGN);
  child_watch = (struct watch){.fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK), .ready = on_child};
  watch_arm(&child_watch, EPOLLIN);
}

_Noreturn void loop_run(void) {
  struct epoll_event events[BATCH];
  for (;;) {
    /* What is due may have something to say, so it comes before the flush, and both before the wait. */
    int timeout_ms = executions_tick();
    connections_flush();
    int count = epoll_wait(epoll_fd, events, BATCH, timeout_ms);
    for (int i = 0; i < count; i++) {
      struct watch *watch = events[i].data.ptr;
      if (watch->fd >= 0) watch->ready(watch, events[i].events);
    }
    while (deferred_count > 0) free(deferred[--deferred_count]);
  }
}
