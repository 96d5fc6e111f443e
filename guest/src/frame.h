/*
 * Frames: the protocol's bytes, and nothing else. docs/guest-protocol.md is the text, this is the code.
 *
 * Knows no sockets and no processes. Holds always: no input makes the parser read outside its buffer, and a frame
 * over its limit is refused by its header alone.
 */
#ifndef HOLDFAST_FRAME_H
#define HOLDFAST_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROTOCOL_VERSION 1u
#define FRAME_HEADER_BYTES 12u
#define MAX_DATA_BYTES 65536u
#define MAX_REQUEST_BYTES 1048576u
#define STDIN_CREDIT 1048576u

enum frame_type {
  FRAME_HELLO = 1, FRAME_EXEC, FRAME_ATTACH, FRAME_CONNECT, FRAME_STARTED, FRAME_DATA, FRAME_EOF, FRAME_ACK,
  FRAME_CREDIT, FRAME_EXIT, FRAME_END, FRAME_CLOSE, FRAME_SIGNAL, FRAME_KILL, FRAME_RESIZE, FRAME_LIST,
  FRAME_FORGET, FRAME_REPLY, FRAME_PING, FRAME_PONG, FRAME_SHUTDOWN,
};

enum channel { CHANNEL_STDIN = 0, CHANNEL_STDOUT = 1, CHANNEL_STDERR = 2 };

enum field_tag {
  TAG_VERSION = 1, TAG_BOOT, TAG_ID, TAG_TAG, TAG_PID, TAG_SEQ, TAG_SKIPPED, TAG_AFTER, TAG_WINDOW, TAG_PORT,
  TAG_COUNT, TAG_STATUS, TAG_CODE, TAG_FLAGS, TAG_SURVIVORS, TAG_USEC, TAG_ERRNO, TAG_MESSAGE, TAG_SIGNO, TAG_TREE,
  TAG_GRACE_MS, TAG_KILLED, TAG_VERIFIED, TAG_COLS, TAG_ROWS, TAG_STATE, TAG_NAME, TAG_TOKEN,
  TAG_ARGV = 32, TAG_SELF, TAG_ENV, TAG_CWD, TAG_UID, TAG_GID, TAG_USER, TAG_STDIN, TAG_PTY, TAG_TIMEOUT_MS,
  TAG_RLIMIT, TAG_EPHEMERAL,
};

struct frame_header {
  uint32_t length;
  uint8_t type;
  uint8_t channel;
  uint32_t stream;
};

/* Reads a header from FRAME_HEADER_BYTES bytes; false when it breaks a rule (towards the guest). */
bool frame_header_parse(const uint8_t *bytes, struct frame_header *header);
void frame_header_write(uint8_t *bytes, uint32_t length, uint8_t type, uint8_t channel, uint32_t stream);

/* One field; `bytes` points into the payload. */
struct field {
  uint8_t tag;
  uint32_t length;
  const uint8_t *bytes;
};

struct field_reader {
  const uint8_t *next, *end;
};

/* 1: a field was read; 0: the end; -1: the payload is malformed. */
int field_next(struct field_reader *reader, struct field *field);

/* The integer of a field; false unless the field has exactly that width. */
bool field_u8(const struct field *field, uint8_t *value);
bool field_u16(const struct field *field, uint16_t *value);
bool field_u32(const struct field *field, uint32_t *value);
bool field_u64(const struct field *field, uint64_t *value);

uint16_t load_u16(const uint8_t *bytes);
uint32_t load_u32(const uint8_t *bytes);
uint64_t load_u64(const uint8_t *bytes);
void store_u32(uint8_t *bytes, uint32_t value);
void store_u64(uint8_t *bytes, uint64_t value);

/* A small frame under construction in a fixed buffer; a field that does not fit is cut (text) or a bug (numbers). */
struct frame_builder {
  uint8_t bytes[640];
  size_t length;
};

void frame_begin(struct frame_builder *builder, uint8_t type, uint32_t stream);
void frame_u8(struct frame_builder *builder, uint8_t tag, uint8_t value);
void frame_u32(struct frame_builder *builder, uint8_t tag, uint32_t value);
void frame_u64(struct frame_builder *builder, uint8_t tag, uint64_t value);
void frame_bytes(struct frame_builder *builder, uint8_t tag, const void *bytes, size_t length);
void frame_text(struct frame_builder *builder, uint8_t tag, const char *text);
/* Writes the length into the header; call it last. */
void frame_end(struct frame_builder *builder);

#endif
