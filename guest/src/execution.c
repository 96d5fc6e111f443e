/* Executions: their table, how they end, how they are killed, and when their record may go. */
#include "guest.h"
#include "supervisor.h"
#include "tree.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* A kill that the supervisor has not finished by then is taken over by the guest itself. */
#define ESCALATE_US 10000000
/* And a tree that is still not empty by then is reported as such, so that the server destroys the sandbox. */
#define GIVE_UP_US 15000000
#define SWEEP_US 5000
#define SETTLE_US 20000

struct execution *executions;
static uint64_t last_id;
static int64_t next_sweep_us;

size_t executions_live(void) {
  size_t count = 0;
  for (struct execution *e = executions; e; e = e->next) count += !(e->is_finished && e->is_empty);
  return count;
}

/* Many executions at once share the memory that few could have each. */
uint32_t executions_capacity(void) {
  size_t live = executions_live();
  return live < 32 ? JOURNAL_BYTES : live < 128 ? JOURNAL_BYTES / 4 : JOURNAL_BYTES / 8;
}

struct execution *execution_new(uint32_t capacity) {
  struct execution *e = calloc(1, sizeof *e);
  if (!e) return NULL;
  if (!journal_open(&e->journal, capacity)) {
    free(e);
    return NULL;
  }
  e->id = ++last_id;
  e->control.fd = e->inlet.watch.fd = e->outlets[0].watch.fd = e->outlets[1].watch.fd = -1;
  e->outlets[0].is_dry = e->outlets[1].is_dry = true;
  e->inlet.execution = e;
  e->inlet.credit = STDIN_CREDIT;
  e->started_us = now_us();
  e->next = executions;
  executions = e;
  return e;
}

struct execution *execution_find(uint64_t id, const char *tag) {
  for (struct execution *e = executions; e; e = e->next)
    if (id ? e->id == id : tag[0] && strcmp(e->tag, tag) == 0) return e;
  return NULL;
}

static void execution_free(struct execution *e) {
  e->is_freed = true;
  for (struct execution **link = &executions; *link; link = &(*link)->next)
    if (*link == e) {
      *link = e->next;
      break;
    }
  while (e->readers) stream_close(e->readers);
  for (struct kill_waiter *waiter = e->waiters, *next; waiter; waiter = next) {
    next = waiter->next;
    free(waiter);
  }
  watch_close(&e->control);
  watch_close(&e->outlets[0].watch);
  watch_close(&e->outlets[1].watch);
  inlet_close(&e->inlet);
  journal_close(&e->journal);
  loop_defer_free(e);
}

void execution_discard(struct execution *e) { execution_free(e); }

void execution_wake_readers(struct execution *e) {
  for (struct stream *reader = e->readers; reader; reader = reader->next_of_execution) stream_wake(reader);
}

/* Keeps the newest ended executions, within a number and a number of bytes. */
static void trim_ended(void) {
  size_t count = 0, bytes = 0;
  struct execution *next;
  /* The list is newest first. */
  for (struct execution *e = executions; e; e = next) {
    next = e->next;
    if (!e->is_finished || !e->is_empty || e->readers) continue;
    size_t used = e->journal.head < e->journal.capacity ? (size_t)e->journal.head : e->journal.capacity;
    count++;
    bytes += used;
    if (count > MAX_ENDED || bytes > MAX_ENDED_BYTES) execution_free(e);
  }
}

static void answer_waiters(struct execution *e, bool verified) {
  for (struct kill_waiter *waiter = e->waiters, *next; waiter; waiter = next) {
    next = waiter->next;
    struct frame_builder frame;
    frame_begin(&frame, FRAME_REPLY, waiter->stream);
    frame_u32(&frame, TAG_KILLED, e->killed);
    frame_u8(&frame, TAG_VERIFIED, verified);
    frame_end(&frame);
    connection_send(waiter->connection, &frame);
    connection_end_stream(waiter->connection, waiter->stream, 0, "");
    free(waiter);
  }
  e->waiters = NULL;
}

void execution_settle(struct execution *e) {
  if (e->is_freed) return;
  bool was_finished = e->is_finished;
  if (e->is_tcp) {
    /* Finished when both directions are closed. */
    e->is_finished = e->is_empty = e->has_started && e->peer_sent_fin && e->inlet.watch.fd < 0;
  } else if (!was_finished && e->has_exited && e->outlets[0].is_dry && e->outlets[1].is_dry) {
    /* A timeout or a kill is over when the whole tree is gone, not when its first process is. */
    e->is_finished = !e->was_killed || e->is_empty || e->is_given_up;
    e->exit_flags = e->timed_out ? 1 : e->was_killed ? 2 : 0;
    if (e->was_killed) e->survivors = !e->is_empty;
  }
  if (e->is_finished && !was_finished) {
    execution_wake_readers(e);
    /* Blocked outlets go on, now only to be emptied. */
    outlet_unblock(&e->outlets[0]);
    outlet_unblock(&e->outlets[1]);
  }
  if (!e->is_finished || e->readers) return;
  if (!e->is_empty) {
    /* An ephemeral execution leaves nothing behind. */
    if (e->is_ephemeral && !e->was_killed) execution_order_kill(e, 0);
    return;
  }
  if (e->is_ephemeral || e->is_forgotten) execution_free(e);
  else trim_ended();
}

static void begin_drain(struct execution *e) {
  for (int i = 0; i < 2; i++) {
    struct outlet *outlet = &e->outlets[i];
    if (outlet->watch.fd < 0) continue;
    int waiting = 0;
    if (e->has_terminal) {
      /* The line discipline delivers late: silence for a moment is its end, unless it hangs up first. */
      outlet->drain_left = -1;
      e->settle_us = now_us() + SETTLE_US;
    } else if (ioctl(outlet->watch.fd, FIONREAD, &waiting) == 0) outlet->drain_left = waiting;
    outlet->is_dry = false;
    if (!outlet->is_blocked) outlet_pump(outlet);
  }
}

static void main_ended(struct execution *e, int status, bool survivors) {
  if (e->has_exited) return;
  e->has_exited = true;
  e->status = status;
  e->survivors = survivors;
  e->ended_us = now_us();
  e->deadline_us = 0;
  begin_drain(e);
  execution_settle(e);
}

/* An escalated one has its death on the way. */
static void give_back_supervisor(struct execution *e) {
  if (!e->is_escalated && e->supervisor > 0 && e->control.fd >= 0 && supervisor_keep(e->supervisor, e->control.fd)) {
    watch_disarm(&e->control);
    e->control.fd = -1;
    e->supervisor = 0;
  } else watch_close(&e->control);
}

static void tree_ended(struct execution *e, uint32_t killed) {
  e->is_empty = true;
  e->killed += killed;
  user_kill_count(e->uid, killed);
  e->kill_deadline_us = 0;
  give_back_supervisor(e);
  answer_waiters(e, true);
  execution_settle(e);
}

static void explain(const struct execution *e, uint8_t step, char *text, size_t size) {
  switch (step) {
    case STEP_USER: snprintf(text, size, "cannot change to the user"); break;
    case STEP_RLIMIT: snprintf(text, size, "cannot set a resource limit"); break;
    case STEP_CWD: snprintf(text, size, "cannot enter the working directory %s", e->cwd); break;
    case STEP_TERMINAL: snprintf(text, size, "cannot take the terminal"); break;
    case STEP_EXEC: snprintf(text, size, "cannot run the program %s", e->name); break;
    default: snprintf(text, size, "cannot start a process");
  }
}

static void start_failed(struct execution *e, const struct report *report) {
  for (struct stream *reader = e->readers; reader; reader = reader->next_of_execution) {
    reader->error = report->error;
    explain(e, report->step, reader->message, sizeof reader->message);
  }
  e->is_ephemeral = true;
  e->has_exited = e->is_empty = true;
  e->outlets[0].is_dry = e->outlets[1].is_dry = true;
  execution_settle(e);
}

static void on_report(struct watch *watch, uint32_t events) {
  struct execution *e = (struct execution *)(void *)((char *)watch - offsetof(struct execution, control));
  (void)events;
  struct report report;
  ssize_t got = recv(watch->fd, &report, sizeof report, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got != (ssize_t)sizeof report) {
    /* It died without a word: murdered. What it watched over is now ours and is killed as strays. */
    watch_close(watch);
    e->was_killed = true;
    next_sweep_us = 1;
    return;
  }
  switch (report.kind) {
    case REPORT_STARTED:
      e->pid = report.pid;
      e->has_started = true;
      execution_wake_readers(e);
      break;
    case REPORT_FAILED: start_failed(e, &report); break;
    case REPORT_EXITED:
      main_ended(e, report.status, report.survivors);
      if (!report.survivors) tree_ended(e, report.killed);
      break;
    case REPORT_EMPTY: tree_ended(e, report.killed); break;
    default: break;
  }
}

void execution_watch_supervisor(struct execution *e, int control) {
  e->control = (struct watch){.fd = control, .ready = on_report};
  watch_arm(&e->control, EPOLLIN);
}

static bool send_order(struct execution *e, struct order order) {
  return e->control.fd >= 0 && send(e->control.fd, &order, sizeof order, MSG_DONTWAIT | MSG_NOSIGNAL) > 0;
}

bool execution_order_signal(struct execution *e, int signal, bool whole_tree) {
  if (e->is_empty || (!whole_tree && e->has_exited)) return false;
  return send_order(e, (struct order){.kind = whole_tree ? ORDER_SIGNAL_TREE : ORDER_SIGNAL_MAIN, .signal = signal});
}

void execution_order_kill(struct execution *e, uint32_t grace_ms) {
  if (e->is_empty || e->is_tcp) return;
  e->was_killed = true;
  e->is_escalated = e->is_given_up = false;
  e->kill_deadline_us = now_us() + grace_ms * 1000LL + ESCALATE_US;
  /* A program of the same uid may have stopped its supervisor. */
  if (e->supervisor > 0) kill(e->supervisor, SIGCONT);
  send_order(e, (struct order){.kind = ORDER_KILL, .grace_ms = grace_ms});
}

void execution_add_waiter(struct execution *e, struct connection *connection, uint32_t stream) {
  struct kill_waiter *waiter = malloc(sizeof *waiter);
  if (!waiter) {
    connection_end_stream(connection, stream, ENOMEM, "out of memory");
    return;
  }
  *waiter = (struct kill_waiter){.next = e->waiters, .connection = connection, .stream = stream};
  e->waiters = waiter;
  if (e->is_empty) answer_waiters(e, true);
}

static bool is_supervisor(pid_t pid) {
  if (spare_is(pid)) return true;
  for (struct execution *e = executions; e; e = e->next)
    if (e->supervisor == pid) return true;
  return false;
}

/* Children of ours that are no supervisors lost theirs to a murderer; nothing may outlive its execution that way. */
static void sweep_strays(void) {
  /* The dead first: one of them may be a main process whose status is still to be had. */
  executions_reap();
  struct pid_list strays = {0};
  if (!tree_descendants(getpid(), is_supervisor, &strays)) return;
  bool any = strays.count > 0;
  pid_list_free(&strays);
  if (any) {
    tree_kill_round(getpid(), is_supervisor);
    next_sweep_us = now_us() + SWEEP_US;
    return;
  }
  next_sweep_us = 0;
  struct execution *next;
  for (struct execution *e = executions; e; e = next) {
    next = e->next;
    if (e->is_tcp || e->is_empty || e->control.fd >= 0) continue;
    if (!e->has_exited) {
      /* It may have begun before its supervisor could say so. */
      e->has_started = e->is_status_unknown = true;
      main_ended(e, 0, false);
    }
    tree_ended(e, 0);
  }
}

void executions_reap(void) {
  int status;
  for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    if (spare_is(pid)) spare_drop();
    for (struct execution *e = executions; e; e = e->next) {
      if (e->supervisor == pid) {
        e->supervisor = 0;
        break;
      }
      /* A main process becomes our child only when its supervisor was murdered. */
      if (e->pid == pid && !e->has_exited) {
        main_ended(e, status, true);
        break;
      }
    }
  }
}

static int64_t sooner(int64_t a, int64_t b) { return a == 0 || (b != 0 && b < a) ? b : a; }

int executions_tick(void) {
  int64_t now = now_us(), soonest = 0;
  if (next_sweep_us && next_sweep_us <= now) sweep_strays();
  struct execution *next;
  for (struct execution *e = executions; e; e = next) {
    next = e->next;
    if (e->deadline_us && e->deadline_us <= now) {
      e->deadline_us = 0;
      e->timed_out = true;
      execution_order_kill(e, e->grace_ms);
    }
    if (e->kill_deadline_us && e->kill_deadline_us <= now) {
      if (!e->is_escalated) {
        e->is_escalated = true;
        e->kill_deadline_us = now + GIVE_UP_US - ESCALATE_US;
        if (e->supervisor > 0) kill(e->supervisor, SIGKILL);
      } else {
        e->kill_deadline_us = 0;
        e->is_given_up = true;
        answer_waiters(e, false);
        execution_settle(e);
      }
    }
    soonest = sooner(soonest, e->deadline_us);
    soonest = sooner(soonest, e->kill_deadline_us);
    soonest = sooner(soonest, e->settle_us);
    if (e->settle_us && e->outlets[0].is_blocked) e->settle_us = now + SETTLE_US;
    if (e->settle_us && e->settle_us <= now) {
      e->settle_us = 0;
      e->outlets[0].is_dry = true;
      execution_settle(e);
    }
  }
  soonest = sooner(soonest, next_sweep_us);
  soonest = sooner(soonest, user_kills_tick(now));
  soonest = sooner(soonest, spare_tick(now));
  if (soonest == 0) return -1;
  int64_t wait_us = soonest - now_us();
  return wait_us <= 0 ? 0 : (int)(wait_us / 1000) + 1;
}
