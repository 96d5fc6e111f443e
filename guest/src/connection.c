/*
 * Connections: bytes in, frames out.
 *
 * Output is pulled: nothing is framed before the socket can take it, so the memory of a connection does not depend
 * on what programs print. DATA goes out straight from the journals, one frame per ready stream in turn.
 */
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAX_QUEUE_BYTES (4u << 20)
#define BATCH_FRAMES 8
#define TURN_FRAMES 4
#define SMALL_BYTES 4096u
/* Copied small frames before the socket has its turn. */
#define COPIED_BYTES 65536u

static struct connection connections[MAX_CONNECTIONS];
static struct watch listener_watch;
static bool allows_local_peers;
static uint8_t boot[16];

static void doom(struct connection *c) { c->is_doomed = true; }

/* --- the queue of control frames --- */

static bool queue_bytes(struct connection *c, const uint8_t *bytes, size_t length) {
  if (c->queue_start > 0 && c->queue_start + c->queue_length + length > c->queue_room) {
    memmove(c->queue, c->queue + c->queue_start, c->queue_length);
    c->queue_start = 0;
  }
  if (c->queue_length + length > c->queue_room) {
    size_t room = c->queue_room ? c->queue_room : 4096;
    while (room < c->queue_length + length) room *= 2;
    uint8_t *moved = room <= MAX_QUEUE_BYTES ? realloc(c->queue, room) : NULL;
    if (!moved) {
      doom(c);
      return false;
    }
    c->queue = moved;
    c->queue_room = room;
  }
  memcpy(c->queue + c->queue_start + c->queue_length, bytes, length);
  c->queue_length += length;
  c->wants_flush = true;
  return true;
}

void connection_send(struct connection *c, struct frame_builder *frame) { queue_bytes(c, frame->bytes, frame->length); }

void connection_end_stream(struct connection *c, uint32_t stream, int error, const char *message) {
  struct frame_builder frame;
  frame_begin(&frame, FRAME_END, stream);
  frame_u32(&frame, TAG_ERRNO, (uint32_t)error);
  if (message[0]) frame_text(&frame, TAG_MESSAGE, message);
  frame_end(&frame);
  connection_send(c, &frame);
}

/* --- writing --- */

/* Writes the queue; true when it is empty. */
static bool write_queue(struct connection *c) {
  while (c->queue_length > 0) {
    ssize_t written = send(c->watch.fd, c->queue + c->queue_start, c->queue_length, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (written < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) doom(c);
      return false;
    }
    c->queue_start += (size_t)written;
    c->queue_length -= (size_t)written;
  }
  c->queue_start = 0;
  if (c->queue_room > 65536) {
    free(c->queue);
    c->queue = NULL;
    c->queue_room = 0;
  }
  return true;
}

struct data_frame {
  struct stream *stream;
  uint8_t header[FRAME_HEADER_BYTES];
  const uint8_t *bytes;
  size_t length;
};

static void frame_data(struct stream *s, struct data_frame *frame) {
  uint64_t limit = s->acknowledged + s->window - s->cursor;
  uint8_t channel;
  frame->stream = s;
  frame->bytes = journal_peek(&s->execution->journal, s->cursor, limit < MAX_DATA_BYTES ? (size_t)limit : MAX_DATA_BYTES,
                              &frame->length, &channel);
  frame_header_write(frame->header, (uint32_t)frame->length, FRAME_DATA, channel, s->id);
  s->cursor += frame->length;
}

/*
 * Collects one batch of DATA from the ready streams, a few frames each in turn. Small frames are copied to the queue
 * while nothing larger waits, so that a short command's output, EXIT and END leave in one write.
 */
static int collect(struct connection *c, struct data_frame *frames) {
  int count = 0;
  while (count < BATCH_FRAMES && c->ready_first && c->queue_length < COPIED_BYTES) {
    struct stream *s = stream_next_ready(c);
    if (!stream_speak(s)) continue;
    for (int turn = 0; turn < TURN_FRAMES && count < BATCH_FRAMES && stream_has_data(s); turn++) {
      frame_data(s, &frames[count]);
      if (count == 0 && frames[0].length <= SMALL_BYTES) {
        queue_bytes(c, frames[0].header, FRAME_HEADER_BYTES);
        queue_bytes(c, frames[0].bytes, frames[0].length);
        stream_wake(s);
        break;
      }
      count++;
    }
  }
  return count;
}

/* Takes back what the socket did not; a frame that was begun is completed from the queue, whatever happens to its stream. */
static bool take_back(struct connection *c, struct data_frame *frames, int count, size_t sent) {
  bool took_all = true;
  for (int i = 0; i < count; i++) {
    size_t whole = FRAME_HEADER_BYTES + frames[i].length;
    if (sent >= whole) {
      sent -= whole;
      continue;
    }
    took_all = false;
    if (sent == 0) frames[i].stream->cursor -= frames[i].length;
    else if (sent < FRAME_HEADER_BYTES) {
      queue_bytes(c, frames[i].header + sent, FRAME_HEADER_BYTES - sent);
      queue_bytes(c, frames[i].bytes, frames[i].length);
    } else queue_bytes(c, frames[i].bytes + (sent - FRAME_HEADER_BYTES), whole - sent);
    sent = 0;
  }
  return took_all;
}

/* Sends one batch; true when the socket took all of it. */
static bool write_batch(struct connection *c) {
  struct data_frame frames[BATCH_FRAMES];
  struct iovec parts[BATCH_FRAMES * 2];
  int count = collect(c, frames);
  /* Control frames queued meanwhile (STARTED, CREDIT, EXIT of others) precede the data. */
  bool has_room = write_queue(c);
  size_t sent = 0;
  if (has_room && count > 0) {
    for (int i = 0; i < count; i++) {
      parts[2 * i] = (struct iovec){frames[i].header, FRAME_HEADER_BYTES};
      parts[2 * i + 1] = (struct iovec){(void *)(uintptr_t)frames[i].bytes, frames[i].length};
    }
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)count * 2};
    ssize_t result = sendmsg(c->watch.fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (result < 0 && errno != EAGAIN && errno != EINTR) doom(c);
    if (result > 0) sent = (size_t)result;
  }
  bool took_all = take_back(c, frames, count, sent) && has_room;
  for (int i = 0; i < count; i++) stream_wake(frames[i].stream);
  return took_all;
}

static void connection_drop(struct connection *c) {
  while (c->streams) stream_abandon(c->streams);
  for (struct execution *e = executions; e; e = e->next)
    for (struct kill_waiter **link = &e->waiters; *link;) {
      struct kill_waiter *waiter = *link;
      if (waiter->connection != c) {
        link = &waiter->next;
        continue;
      }
      *link = waiter->next;
      free(waiter);
    }
  user_kill_leave(c);
  watch_close(&c->watch);
  free(c->input);
  free(c->queue);
  *c = (struct connection){.watch.fd = -1};
}

static void flush(struct connection *c) {
  c->wants_flush = false;
  bool has_room = write_queue(c);
  while (has_room && !c->is_doomed && c->ready_first) has_room = write_batch(c);
  if (c->is_doomed) {
    connection_drop(c);
    return;
  }
  /* Data that waits for an acknowledgement is woken by it; what waits for the socket is woken by EPOLLOUT. */
  bool waits_for_socket = c->queue_length > 0 || (c->ready_first && !has_room);
  watch_arm(&c->watch, waits_for_socket ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void connections_flush(void) {
  for (int i = 0; i < MAX_CONNECTIONS; i++)
    if (connections[i].is_used && (connections[i].wants_flush || connections[i].is_doomed)) flush(&connections[i]);
}

/* --- reading --- */

static bool reserve_input(struct connection *c, size_t room) {
  if (room <= c->input_room) return true;
  uint8_t *moved = realloc(c->input, room);
  if (!moved) return false;
  c->input = moved;
  c->input_room = room;
  return true;
}

/* Handles every whole frame in the buffer; false when the server broke the protocol. */
static bool handle_input(struct connection *c) {
  size_t start = 0;
  bool is_sound = true, had_environment = false;
  while (is_sound && c->input_length - start >= FRAME_HEADER_BYTES) {
    struct frame_header header;
    if (!frame_header_parse(c->input + start, &header)) return false;
    size_t whole = FRAME_HEADER_BYTES + header.length;
    if (c->input_length - start < whole) {
      if (!reserve_input(c, whole)) return false;
      break;
    }
    is_sound = request_handle(c, &header, c->input + start + FRAME_HEADER_BYTES);
    had_environment = had_environment || header.type == FRAME_EXEC;
    start += whole;
  }
  c->input_length -= start;
  memmove(c->input, c->input + start, c->input_length);
  /* What was read may hold secrets of one program; nothing of it stays here. */
  if (had_environment) explicit_bzero(c->input + c->input_length, start);
  if (c->input_length == 0 && c->input_room > FRAME_HEADER_BYTES + MAX_DATA_BYTES) {
    free(c->input);
    c->input = NULL;
    c->input_room = 0;
  }
  return is_sound;
}

/* In a new supervisor, which may live longer than the program whose request it was forked with, and serve another user. */
void connections_wipe(void) {
  for (int i = 0; i < MAX_CONNECTIONS; i++)
    if (connections[i].input) explicit_bzero(connections[i].input, connections[i].input_length);
}

static void on_connection(struct watch *watch, uint32_t events) {
  struct connection *c = (struct connection *)(void *)watch;
  c->wants_flush = true;
  if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR))) return;
  if (!reserve_input(c, FRAME_HEADER_BYTES + MAX_DATA_BYTES)) {
    doom(c);
    return;
  }
  ssize_t got = recv(watch->fd, c->input + c->input_length, c->input_room - c->input_length, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    doom(c);
    return;
  }
  c->input_length += (size_t)got;
  if (!handle_input(c)) doom(c);
}

/* A peer with a pid in our namespace is a program of this very sandbox; the server always lives outside. */
static bool is_outsider(int fd) {
  struct ucred peer;
  socklen_t length = sizeof peer;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.pid == 0;
}

static void on_listener(struct watch *watch, uint32_t events) {
  (void)events;
  int fd = accept4(watch->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;
  struct connection *c = NULL;
  for (int i = 0; !c && i < MAX_CONNECTIONS; i++)
    if (!connections[i].is_used) c = &connections[i];
  if (!c || (!allows_local_peers && !is_outsider(fd))) {
    close(fd);
    return;
  }
  *c = (struct connection){.watch = {.fd = fd, .ready = on_connection}, .is_used = true};
  struct frame_builder frame;
  frame_begin(&frame, FRAME_HELLO, 0);
  frame_u32(&frame, TAG_VERSION, PROTOCOL_VERSION);
  frame_bytes(&frame, TAG_BOOT, boot, sizeof boot);
  frame_end(&frame);
  connection_send(c, &frame);
}

void connections_listen(int listener, bool local_peers) {
  allows_local_peers = local_peers;
  for (int i = 0; i < MAX_CONNECTIONS; i++) connections[i].watch.fd = -1;
  for (size_t have = 0; have < sizeof boot;) {
    ssize_t got = getrandom(boot + have, sizeof boot - have, 0);
    if (got > 0) have += (size_t)got;
  }
  fcntl(listener, F_SETFL, O_NONBLOCK);
  listener_watch = (struct watch){.fd = listener, .ready = on_listener};
  watch_arm(&listener_watch, EPOLLIN);
}
