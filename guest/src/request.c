/* What the server asks of executions that exist: read, write, signal, kill, list, forget. */
#include "guest.h"
#include "selection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct defaults defaults;

static void attach(struct connection *c, uint32_t id, struct execution *e, const struct selection *selection) {
  if (e->is_tcp || e->is_ephemeral) {
    connection_end_stream(c, id, ESRCH, "no such execution");
    return;
  }
  if (selection->after > e->journal.head) {
    connection_end_stream(c, id, EINVAL, "the sequence number lies in the future");
    return;
  }
  struct stream *s = stream_open(c, e, id, selection->window);
  if (!s) {
    connection_end_stream(c, id, ENOMEM, "out of memory");
    return;
  }
  uint64_t from = selection->after < e->journal.tail ? e->journal.tail : selection->after;
  s->skipped = from - selection->after;
  s->cursor = s->acknowledged = from;
  stream_wake(s);
}

static void list(struct connection *c, uint32_t id) {
  for (struct execution *e = executions; e; e = e->next) {
    if (e->is_tcp || e->is_ephemeral || !e->has_started) continue;
    struct frame_builder frame;
    frame_begin(&frame, FRAME_REPLY, id);
    frame_u64(&frame, TAG_ID, e->id);
    if (e->tag[0]) frame_text(&frame, TAG_TAG, e->tag);
    frame_u32(&frame, TAG_PID, (uint32_t)e->pid);
    frame_u8(&frame, TAG_STATE, !e->has_exited ? 0 : !e->is_empty ? 1 : 2);
    frame_u64(&frame, TAG_SEQ, e->journal.head);
    frame_u64(&frame, TAG_USEC, (uint64_t)(now_us() - e->started_us));
    frame_u32(&frame, TAG_UID, e->uid);
    frame_text(&frame, TAG_NAME, e->name);
    frame_end(&frame);
    connection_send(c, &frame);
  }
  connection_end_stream(c, id, 0, "");
}

static int resize(struct execution *e, const struct selection *selection) {
  if (!e->has_terminal || e->outlets[0].watch.fd < 0) return ENOTTY;
  struct winsize size = {.ws_row = selection->rows, .ws_col = selection->cols};
  return ioctl(e->outlets[0].watch.fd, TIOCSWINSZ, &size) == 0 ? 0 : errno;
}

static void command(struct connection *c, const struct frame_header *header, struct execution *e, const struct selection *selection) {
  int error = 0;
  switch (header->type) {
    case FRAME_ATTACH: attach(c, header->stream, e, selection); return;
    case FRAME_KILL:
      if (!e->is_empty) execution_order_kill(e, selection->grace_ms);
      execution_add_waiter(e, c, header->stream);
      return;
    case FRAME_SIGNAL:
      if (selection->signal == 0 || selection->signal > 64) error = EINVAL;
      else if (!execution_order_signal(e, (int)selection->signal, selection->tree)) error = ESRCH;
      break;
    case FRAME_RESIZE: error = resize(e, selection); break;
    default: break;
  }
  connection_end_stream(c, header->stream, error, error ? strerror(error) : "");
}

static bool forget(const uint8_t *payload, uint32_t length) {
  struct field_reader reader = {payload, payload + length};
  struct field field;
  int result;
  while ((result = field_next(&reader, &field)) == 1) {
    uint64_t id;
    if (field.tag != TAG_ID || !field_u64(&field, &id)) return false;
    struct execution *e = execution_find(id, "");
    if (!e || e->is_tcp) continue;
    e->is_forgotten = true;
    execution_settle(e);
  }
  return result == 0;
}

static void pong(struct connection *c, uint64_t token) {
  struct frame_builder frame;
  frame_begin(&frame, FRAME_PONG, 0);
  frame_u64(&frame, TAG_TOKEN, token);
  frame_end(&frame);
  connection_send(c, &frame);
}

/* A stream that ended may still be spoken to by frames that crossed on the wire; one that never was may not. */
static bool on_stream(struct connection *c, const struct frame_header *header, const uint8_t *payload, const struct selection *selection) {
  struct stream *s = stream_find(c, header->stream);
  if (!s) return header->stream <= c->last_stream;
  struct execution *e = s->execution;
  switch (header->type) {
    case FRAME_DATA: return inlet_write(&e->inlet, payload, header->length);
    case FRAME_EOF: inlet_end(&e->inlet); return true;
    case FRAME_CLOSE: stream_abandon(s); return true;
    case FRAME_ACK:
      if (selection->seq < s->acknowledged || selection->seq > s->cursor) return false;
      s->acknowledged = selection->seq;
      stream_wake(s);
      outlet_unblock(&e->outlets[0]);
      outlet_unblock(&e->outlets[1]);
      return true;
    default: return false;
  }
}

bool request_handle(struct connection *c, const struct frame_header *header, const uint8_t *payload) {
  struct selection selection = {0};
  bool opens = header->stream > c->last_stream;
  switch (header->type) {
    case FRAME_DATA: return on_stream(c, header, payload, NULL);
    case FRAME_EOF: case FRAME_CLOSE: return header->length == 0 && on_stream(c, header, payload, NULL);
    case FRAME_FORGET: return forget(payload, header->length);
    case FRAME_EXEC: case FRAME_CONNECT: break;
    default: if (!selection_parse(payload, header->length, &selection)) return false;
  }
  switch (header->type) {
    case FRAME_ACK: return on_stream(c, header, payload, &selection);
    case FRAME_PING: pong(c, selection.token); return true;
    case FRAME_SHUTDOWN: _exit(0);
    default: break;
  }
  if (!opens) return false;
  c->last_stream = header->stream;
  if (c->stream_count >= MAX_STREAMS) {
    connection_end_stream(c, header->stream, EAGAIN, "too many streams on this connection");
    return true;
  }
  if (header->type == FRAME_EXEC) return request_start(c, header, payload);
  if (header->type == FRAME_CONNECT) return request_connect(c, header, payload);
  if (header->type == FRAME_LIST) {
    list(c, header->stream);
    return true;
  }
  if (selection.has_uid) {
    if (header->type != FRAME_KILL || selection.id || selection.tag[0]) return false;
    user_kill_order(c, header->stream, selection.uid, selection.grace_ms);
    return true;
  }
  struct execution *e = execution_find(selection.id, selection.tag);
  if (e) command(c, header, e, &selection);
  else connection_end_stream(c, header->stream, ESRCH, "no such execution");
  return true;
}
