/*
 * The guest's objects and who owns whom.
 *
 *   connection ──has──▶ streams ──read──▶ execution ──has──▶ journal, outlets, inlet, supervisor
 *
 * A connection that goes takes its streams along; an execution stays (unless it is ephemeral) and can be read again
 * through another stream. Everything happens on one thread, in one epoll loop.
 */
#ifndef HOLDFAST_GUEST_H
#define HOLDFAST_GUEST_H

#include "frame.h"
#include "journal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MAX_CONNECTIONS 8
#define MAX_EXECUTIONS 512
#define MAX_ENDED 256
#define MAX_ENDED_BYTES (16u << 20)
#define MAX_STREAMS 1024
#define MAX_TAG 128
/* What a pipe is widened to when a program moves much. */
#define ROOMY_PIPE 1048576
/* Descriptors below this are never handed out, so that a supervisor can lay its own there. */
#define FIRST_DESCRIPTOR 10

/* --- loop.c: readiness --- */

struct watch {
  int fd;             /* -1: closed; events still on their way are ignored */
  bool is_armed;
  uint32_t events;
  void (*ready)(struct watch *watch, uint32_t events);
};

void loop_open(void);
void watch_arm(struct watch *watch, uint32_t events);
void watch_disarm(struct watch *watch);
void watch_close(struct watch *watch);
/* Frees memory once the events already delivered have been handled. */
void loop_defer_free(void *memory);
_Noreturn void loop_run(void);
int64_t now_us(void);

/* --- execution.c, inlet.c, outlet.c --- */

struct execution;

/* One way out of a program: a pipe, a terminal, or a TCP stream. */
struct outlet {
  struct watch watch;
  struct execution *execution;
  uint8_t channel;
  bool is_blocked;        /* the journal had no room */
  bool is_dry;            /* everything written before the main process ended was read */
  int drain_left;         /* bytes still to be read of that; -1: until the terminal is silent */
  uint32_t full_reads;
};

/* The way in: stdin, a terminal, or a TCP stream, with what the program has not taken yet. */
struct inlet {
  struct watch watch;
  struct execution *execution;
  uint8_t *pending;       /* only while needed */
  size_t room, start, length;
  uint32_t taken;         /* bytes the program took since the last CREDIT */
  uint32_t credit;        /* bytes the server may still send */
  bool is_ending;         /* close when `pending` is empty */
};

struct kill_waiter {
  struct kill_waiter *next;
  struct connection *connection;
  uint32_t stream;
};

struct execution {
  struct execution *next;
  uint64_t id;
  uid_t uid;                    /* who the program is */
  char tag[MAX_TAG + 1];
  char name[64], cwd[128];      /* as asked for, cut, to be named in a refusal */
  pid_t pid, supervisor;
  struct watch control;         /* socket to the supervisor */
  struct outlet outlets[2];
  struct inlet inlet;
  struct journal journal;
  struct stream *readers;
  struct kill_waiter *waiters;
  int64_t started_us, ended_us;
  int64_t deadline_us;          /* timeout, 0 none */
  int64_t kill_deadline_us;     /* when a kill that has not been verified is escalated, 0 none */
  int64_t settle_us;            /* when a silent terminal counts as drained, 0 none */
  uint32_t grace_ms;
  uint32_t killed;
  int status;                   /* wait status, once has_exited */
  bool is_tcp, has_terminal, is_ephemeral;
  bool has_started, has_exited, is_finished, is_empty, is_forgotten, is_freed;
  bool timed_out, was_killed, is_escalated, is_given_up;
  bool is_status_unknown;       /* the supervisor was murdered between the end and its report */
  bool survivors;
  uint8_t exit_flags;           /* as EXIT says them */
  uint16_t port;                /* TCP */
  bool has_tried_v6, peer_sent_fin;
};

extern struct execution *executions;

struct execution *execution_find(uint64_t id, const char *tag);
struct execution *execution_new(uint32_t capacity);
/* One that never came to anything. */
void execution_discard(struct execution *execution);
/* Frees what nobody needs any more: called whenever something about it ended. */
void execution_settle(struct execution *execution);
void execution_order_kill(struct execution *execution, uint32_t grace_ms);
bool execution_order_signal(struct execution *execution, int signal, bool whole_tree);
void execution_add_waiter(struct execution *execution, struct connection *connection, uint32_t stream);
void execution_watch_supervisor(struct execution *execution, int control);
/* SIGCHLD: collects every dead child; strays of a murdered supervisor are killed. */
void executions_reap(void);
/* Timeouts and escalations that are due; returns milliseconds to the next one, or -1. */
int executions_tick(void);
uint32_t executions_capacity(void);
size_t executions_live(void);

/* --- user_kill.c: the end of everything that one user of a packed sandbox runs --- */

void user_kill_order(struct connection *connection, uint32_t stream, uid_t uid, uint32_t grace_ms);
bool user_kill_is_pending(uid_t uid);
/* A tree of that user ended, so many of it by our hand. */
void user_kill_count(uid_t uid, uint32_t killed);
/* The connection is gone; the kill goes on without a listener. */
void user_kill_leave(const struct connection *connection);
/* Goes on with every kill under way; the time of the next step, or 0. */
int64_t user_kills_tick(int64_t now);

void outlet_open(struct outlet *outlet, struct execution *execution, int fd, uint8_t channel);
/* Reads what is there into the journal, or throws it away once the execution is finished. */
void outlet_pump(struct outlet *outlet);
void outlet_unblock(struct outlet *outlet);

void inlet_open(struct inlet *inlet, struct execution *execution, int fd);
/* False when the server sent more than its credit. */
bool inlet_write(struct inlet *inlet, const uint8_t *bytes, size_t length);
void inlet_end(struct inlet *inlet);
void inlet_close(struct inlet *inlet);

/* --- stream.c, connection.c --- */

struct stream {
  struct stream *next_of_connection, *next_of_execution, *next_ready;
  struct connection *connection;
  struct execution *execution;
  uint32_t id;
  uint32_t window;
  uint64_t cursor, acknowledged, skipped;
  bool is_ready, has_sent_started, has_sent_fin;
  int error;                    /* the execution could not be started: END with this */
  char message[200];
};

struct connection {
  struct watch watch;
  bool is_used, wants_flush, is_doomed;
  uint32_t last_stream;
  size_t stream_count;
  struct stream *streams;
  struct stream *ready_first, *ready_last;
  uint8_t *input;               /* FRAME_HEADER_BYTES + MAX_DATA_BYTES, or larger while a large request arrives */
  size_t input_room, input_length;
  uint8_t *queue;               /* control frames, and the rest of a frame that was sent in part */
  size_t queue_start, queue_length, queue_room;
};

struct stream *stream_open(struct connection *connection, struct execution *execution, uint32_t id, uint32_t window);
struct stream *stream_find(struct connection *connection, uint32_t id);
void stream_close(struct stream *stream);
/* The reader is gone: what lives only for it goes too. */
void stream_abandon(struct stream *stream);
/* Something about the stream's execution changed: it may have frames to send. */
void stream_wake(struct stream *stream);
void execution_wake_readers(struct execution *execution);
/* The next stream that was woken, or NULL. */
struct stream *stream_next_ready(struct connection *connection);
/* Queues every control frame of a stream that is due. False when that ended the stream. */
bool stream_speak(struct stream *stream);
/* Output that its window allows to be sent. */
bool stream_has_data(const struct stream *stream);

void connections_listen(int listener, bool allows_local_peers);
void connections_flush(void);
void connections_wipe(void);
void connection_send(struct connection *connection, struct frame_builder *frame);
/* The last frame of a stream, also of one that never was more than a request. */
void connection_end_stream(struct connection *connection, uint32_t stream, int error, const char *message);

/* --- spare.c: where supervisors come from, and one that waits for its next program --- */

struct program;
/* A supervisor that starts the program; -1 with errno. */
pid_t supervisor_take(const struct program *program, int *control);
/* Takes over one whose tree is gone; false when it is not wanted, and then closing its socket ends it. */
bool supervisor_keep(pid_t pid, int control);
bool spare_is(pid_t pid);
void spare_drop(void);
/* Drops it when it is due; the time at which it will be, or 0. */
int64_t spare_tick(int64_t now);

/* --- user_choice.c: who a program will be --- */

struct start_request;
/* Sets the program's user; 0, or an errno with a sentence. */
int user_choose(struct start_request *request, const char **message);
/* A packed sandbox has several users, each a number of a range, and no default one. */
bool user_is_packed(uid_t uid);

/* --- request.c, start.c, port.c: what a frame asks for. False: the server broke the protocol. --- */

struct defaults {
  uid_t uid;
  gid_t gid;
  uid_t first_user;           /* a packed sandbox: the first of its users, else 0 */
  uint32_t user_count;
  uint32_t user_processes;    /* how many processes one of them may have */
  bool may_change_user;
  int self_fd;
};
extern struct defaults defaults;

bool request_handle(struct connection *connection, const struct frame_header *header, const uint8_t *payload);
bool request_start(struct connection *connection, const struct frame_header *header, const uint8_t *payload);
bool request_connect(struct connection *connection, const struct frame_header *header, const uint8_t *payload);

#endif
