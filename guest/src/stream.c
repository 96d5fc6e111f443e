/*
 * Streams: one reader of one execution each, and what it is told, in order: STARTED, output, EXIT, END.
 *
 * A stream says nothing by itself. Whatever changes about its execution wakes it, and the connection asks it when the
 * socket can take something.
 */
#include "guest.h"

#include <stdlib.h>
#include <sys/wait.h>

void stream_wake(struct stream *s) {
  s->connection->wants_flush = true;
  if (s->is_ready) return;
  s->is_ready = true;
  s->next_ready = NULL;
  if (s->connection->ready_last) s->connection->ready_last->next_ready = s;
  else s->connection->ready_first = s;
  s->connection->ready_last = s;
}

struct stream *stream_next_ready(struct connection *c) {
  struct stream *s = c->ready_first;
  if (!s) return NULL;
  c->ready_first = s->next_ready;
  if (!c->ready_first) c->ready_last = NULL;
  s->is_ready = false;
  return s;
}

struct stream *stream_open(struct connection *c, struct execution *e, uint32_t id, uint32_t window) {
  struct stream *s = calloc(1, sizeof *s);
  if (!s) return NULL;
  uint32_t largest = e->journal.capacity / 2;
  *s = (struct stream){
    .next_of_connection = c->streams, .next_of_execution = e->readers, .connection = c, .execution = e, .id = id,
    .window = window == 0 || window > largest ? largest : window,
  };
  c->streams = s;
  c->stream_count++;
  e->readers = s;
  return s;
}

struct stream *stream_find(struct connection *c, uint32_t id) {
  for (struct stream *s = c->streams; s; s = s->next_of_connection)
    if (s->id == id) return s;
  return NULL;
}

void stream_close(struct stream *s) {
  struct connection *c = s->connection;
  struct execution *e = s->execution;
  for (struct stream **link = &c->streams; *link; link = &(*link)->next_of_connection)
    if (*link == s) { *link = s->next_of_connection; break; }
  for (struct stream **link = &e->readers; *link; link = &(*link)->next_of_execution)
    if (*link == s) { *link = s->next_of_execution; break; }
  if (s->is_ready) {
    struct stream *before = NULL;
    for (struct stream *i = c->ready_first; i && i != s; i = i->next_ready) before = i;
    if (before) before->next_ready = s->next_ready; else c->ready_first = s->next_ready;
    if (c->ready_last == s) c->ready_last = before;
  }
  c->stream_count--;
  loop_defer_free(s);
  /* What this reader held back may flow now. */
  outlet_unblock(&e->outlets[0]);
  outlet_unblock(&e->outlets[1]);
}

static void send_started(struct stream *s) {
  struct frame_builder frame;
  frame_begin(&frame, FRAME_STARTED, s->id);
  frame_u64(&frame, TAG_ID, s->execution->id);
  frame_u32(&frame, TAG_PID, (uint32_t)s->execution->pid);
  frame_u64(&frame, TAG_SEQ, s->cursor);
  frame_u64(&frame, TAG_SKIPPED, s->skipped);
  frame_u32(&frame, TAG_WINDOW, s->window);
  if (!s->execution->is_tcp) frame_u32(&frame, TAG_COUNT, s->execution->inlet.credit);
  if (s->execution->tag[0]) frame_text(&frame, TAG_TAG, s->execution->tag);
  frame_end(&frame);
  connection_send(s->connection, &frame);
  s->has_sent_started = true;
}

static void send_credit(struct stream *s) {
  struct inlet *inlet = &s->execution->inlet;
  struct frame_builder frame;
  frame_begin(&frame, FRAME_CREDIT, s->id);
  frame_u32(&frame, TAG_COUNT, inlet->taken);
  frame_end(&frame);
  connection_send(s->connection, &frame);
  inlet->credit += inlet->taken;
  inlet->taken = 0;
}

static void send_exit(struct stream *s) {
  const struct execution *e = s->execution;
  bool by_signal = !e->is_status_unknown && WIFSIGNALED(e->status);
  struct frame_builder frame;
  frame_begin(&frame, FRAME_EXIT, s->id);
  frame_u8(&frame, TAG_STATUS, e->is_status_unknown ? 2 : by_signal);
  frame_u32(&frame, TAG_CODE, (uint32_t)(by_signal ? WTERMSIG(e->status) : WEXITSTATUS(e->status)));
  frame_u8(&frame, TAG_FLAGS, e->exit_flags);
  frame_u64(&frame, TAG_SEQ, e->journal.head);
  frame_u8(&frame, TAG_SURVIVORS, e->survivors);
  frame_u64(&frame, TAG_USEC, (uint64_t)(e->ended_us - e->started_us));
  frame_end(&frame);
  connection_send(s->connection, &frame);
}

bool stream_speak(struct stream *s) {
  struct execution *e = s->execution;
  if (s->error) {
    connection_end_stream(s->connection, s->id, s->error, s->message);
    stream_close(s);
    execution_settle(e);
    return false;
  }
  if (!e->has_started) return true;
  if (!s->has_sent_started) send_started(s);
  if (e->inlet.taken >= 65536u) send_credit(s);
  if (s->cursor < e->journal.head) return true;
  if (e->is_tcp && e->peer_sent_fin && !s->has_sent_fin) {
    struct frame_builder frame;
    frame_begin(&frame, FRAME_EOF, s->id);
    frame.bytes[5] = CHANNEL_STDOUT;
    frame_end(&frame);
    connection_send(s->connection, &frame);
    s->has_sent_fin = true;
  }
  if (!e->is_finished) return true;
  if (!e->is_tcp) send_exit(s);
  connection_end_stream(s->connection, s->id, 0, "");
  stream_close(s);
  execution_settle(e);
  return false;
}

bool stream_has_data(const struct stream *s) {
  return s->has_sent_started && s->cursor < s->execution->journal.head && s->cursor < s->acknowledged + s->window;
}

void stream_abandon(struct stream *s) {
  struct execution *e = s->execution;
  stream_close(s);
  if (e->is_tcp) {
    e->has_started = e->peer_sent_fin = true;
    watch_close(&e->outlets[0].watch);
    inlet_close(&e->inlet);
  } else if (e->is_ephemeral) execution_order_kill(e, e->grace_ms);
  execution_settle(e);
}
