/* EXEC: from a request's fields to a supervised program with its pipes or its terminal. */
#include "guest.h"
#include "start_request.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* The six descriptors of a start; -1 where there is none. */
struct ends {
  int child_input, child_output, child_errors;
  int input, output, errors;
};

static void close_ends(struct ends *ends, bool ours_too) {
  int child[] = {ends->child_input, ends->child_output, ends->child_errors};
  for (int i = 0; i < 3; i++)
    if (child[i] >= 0 && (i == 0 || child[i] != child[i - 1])) close(child[i]);
  int ours[] = {ends->input, ends->output, ends->errors};
  for (int i = 0; ours_too && i < 3; i++)
    if (ours[i] >= 0) close(ours[i]);
}

static bool open_terminal(struct ends *ends, const struct start_request *r) {
  /* The terminal belongs to the user who opens it; programs reopen theirs by name. */
  uid_t before = (uid_t)setfsuid(r->program.uid);
  int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  setfsuid(before);
  if (master < 0) return false;
  int unlock = 0;
  struct winsize size = {.ws_row = r->rows, .ws_col = r->cols};
  int terminal = -1;
  if (ioctl(master, TIOCSPTLCK, &unlock) == 0 && ioctl(master, TIOCSWINSZ, &size) == 0)
    terminal = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  int second = terminal < 0 ? -1 : fcntl(master, F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
  if (second < 0) {
    close(master);
    if (terminal >= 0) close(terminal);
    return false;
  }
  *ends = (struct ends){terminal, terminal, terminal, second, master, -1};
  return true;
}

static bool open_pipe(int *reading, int *writing, bool we_read) {
  int pair[2];
  if (pipe2(pair, O_CLOEXEC) != 0) return false;
  *reading = pair[0];
  *writing = pair[1];
  return fcntl(we_read ? pair[0] : pair[1], F_SETFL, O_NONBLOCK) == 0;
}

static bool open_pipes(struct ends *ends, const struct start_request *r) {
  *ends = (struct ends){-1, -1, -1, -1, -1, -1};
  bool has_input = r->stdin_mode == 1
    ? open_pipe(&ends->child_input, &ends->input, false)
    : (ends->child_input = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;
  return has_input && open_pipe(&ends->output, &ends->child_output, true) &&
         open_pipe(&ends->errors, &ends->child_errors, true);
}

/* Pipes or a terminal, and a supervisor; 0 or an errno. */
static int launch(struct start_request *r, struct execution *e) {
  struct ends ends;
  if (!(r->has_pty ? open_terminal(&ends, r) : open_pipes(&ends, r))) {
    int error = errno;
    if (!r->has_pty) close_ends(&ends, true);
    return error;
  }
  struct program *program = &r->program;
  program->block = r->block;
  program->block_size = r->block_size;
  program->argv = r->argv;
  program->env = r->env;
  program->cwd = r->cwd;
  program->is_self = r->self;
  program->has_terminal = r->has_pty;
  program->input = ends.child_input;
  program->output = ends.child_output;
  program->errors = ends.child_errors;
  int control;
  pid_t pid = supervisor_take(program, &control);
  if (pid < 0) {
    int error = errno;
    close_ends(&ends, true);
    return error;
  }
  close_ends(&ends, false);
  e->supervisor = pid;
  execution_watch_supervisor(e, control);
  if (ends.input >= 0) inlet_open(&e->inlet, e, ends.input);
  outlet_open(&e->outlets[0], e, ends.output, CHANNEL_STDOUT);
  if (ends.errors >= 0) outlet_open(&e->outlets[1], e, ends.errors, CHANNEL_STDERR);
  return 0;
}

/* 0 or an errno with a sentence; nothing is left of a failed start. */
static int start(struct connection *c, uint32_t id, struct start_request *r, const char **message) {
  *message = "cannot start a process (the sandbox may be at its process limit)";
  int error = user_choose(r, message);
  if (error) return error;
  if (r->tag && execution_find(0, r->tag)) {
    *message = "the tag is in use";
    return EEXIST;
  }
  if (executions_live() >= MAX_EXECUTIONS) {
    *message = "too many executions in this sandbox";
    return EAGAIN;
  }
  struct execution *e = execution_new(executions_capacity());
  struct stream *s = e ? stream_open(c, e, id, r->window) : NULL;
  error = s ? launch(r, e) : ENOMEM;
  if (error) {
    if (e) execution_discard(e);
    return error;
  }
  e->uid = r->program.uid;
  e->is_ephemeral = r->ephemeral == 1;
  e->has_terminal = r->has_pty;
  if (r->tag) strcpy(e->tag, r->tag);
  snprintf(e->name, sizeof e->name, "%s", r->argv[0]);
  snprintf(e->cwd, sizeof e->cwd, "%s", r->cwd);
  e->grace_ms = r->grace_ms;
  if (r->timeout_ms) e->deadline_us = now_us() + (int64_t)r->timeout_ms * 1000;
  return 0;
}

bool request_start(struct connection *c, const struct frame_header *header, const uint8_t *payload) {
  struct start_request request;
  const char *message;
  bool is_sound = start_request_parse(payload, header->length, &request);
  if (is_sound) {
    int error = start(c, header->stream, &request, &message);
    if (error) connection_end_stream(c, header->stream, error, message);
  }
  /* The environment may hold secrets: nothing of it stays here once the program has it. */
  if (request.block) explicit_bzero(request.block, request.block_size);
  free(request.block);
  return is_sound;
}
