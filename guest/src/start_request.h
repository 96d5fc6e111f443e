/* An EXEC request: its fields, checked and copied. Starts nothing. */
#ifndef HOLDFAST_START_REQUEST_H
#define HOLDFAST_START_REQUEST_H

#include "supervisor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Strings are NUL-terminated copies in `block`, which the caller frees. */
struct start_request {
  char *block;
  size_t block_size;
  char **argv, **env;
  size_t argc, envc;
  const char *cwd, *user, *tag;
  uint32_t uid, gid, timeout_ms, grace_ms, window;
  bool has_uid, has_gid;
  uint8_t self, stdin_mode, ephemeral;
  bool has_pty;
  uint16_t cols, rows;
  struct program program;
};

/* False when the payload breaks the protocol, or memory is out. `block` is to be freed either way. */
bool start_request_parse(const uint8_t *payload, uint32_t length, struct start_request *request);

#endif
