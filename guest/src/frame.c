#include "frame.h"

#include <string.h>

uint16_t load_u16(const uint8_t *b) { return (uint16_t)(b[0] | (b[1] << 8)); }
uint32_t load_u32(const uint8_t *b) {
  return (uint32_t)b[0] | ((uint32_t)b[1] << 8) | ((uint32_t)b[2] << 16) | ((uint32_t)b[3] << 24);
}
uint64_t load_u64(const uint8_t *b) { return (uint64_t)load_u32(b) | ((uint64_t)load_u32(b + 4) << 32); }
void store_u32(uint8_t *b, uint32_t v) {
  b[0] = (uint8_t)v; b[1] = (uint8_t)(v >> 8); b[2] = (uint8_t)(v >> 16); b[3] = (uint8_t)(v >> 24);
}
void store_u64(uint8_t *b, uint64_t v) { store_u32(b, (uint32_t)v); store_u32(b + 4, (uint32_t)(v >> 32)); }

/* What the server may send; everything else is the guest's to say. */
static bool is_request(uint8_t type) {
  switch (type) {
    case FRAME_EXEC: case FRAME_ATTACH: case FRAME_CONNECT: case FRAME_DATA: case FRAME_EOF: case FRAME_ACK:
    case FRAME_CLOSE: case FRAME_SIGNAL: case FRAME_KILL: case FRAME_RESIZE: case FRAME_LIST: case FRAME_FORGET:
    case FRAME_PING: case FRAME_SHUTDOWN: return true;
    default: return false;
  }
}

bool frame_header_parse(const uint8_t *bytes, struct frame_header *header) {
  header->length = load_u32(bytes);
  header->type = bytes[4];
  header->channel = bytes[5];
  header->stream = load_u32(bytes + 8);
  if (load_u16(bytes + 6) != 0 || header->channel != CHANNEL_STDIN || !is_request(header->type)) return false;
  bool is_of_connection =
    header->type == FRAME_FORGET || header->type == FRAME_PING || header->type == FRAME_SHUTDOWN;
  if (is_of_connection != (header->stream == 0)) return false;
  return header->length <= (header->type == FRAME_DATA ? MAX_DATA_BYTES : MAX_REQUEST_BYTES);
}

void frame_header_write(uint8_t *bytes, uint32_t length, uint8_t type, uint8_t channel, uint32_t stream) {
  store_u32(bytes, length);
  bytes[4] = type;
  bytes[5] = channel;
  bytes[6] = bytes[7] = 0;
  store_u32(bytes + 8, stream);
}

int field_next(struct field_reader *reader, struct field *field) {
  size_t left = (size_t)(reader->end - reader->next);
  if (left == 0) return 0;
  if (left < 5) return -1;
  field->tag = reader->next[0];
  field->length = load_u32(reader->next + 1);
  field->bytes = reader->next + 5;
  if (field->length > left - 5) return -1;
  reader->next = field->bytes + field->length;
  return 1;
}

bool field_u8(const struct field *f, uint8_t *value) {
  if (f->length != 1) return false;
  *value = f->bytes[0];
  return true;
}
bool field_u16(const struct field *f, uint16_t *value) {
  if (f->length != 2) return false;
  *value = load_u16(f->bytes);
  return true;
}
bool field_u32(const struct field *f, uint32_t *value) {
  if (f->length != 4) return false;
  *value = load_u32(f->bytes);
  return true;
}
bool field_u64(const struct field *f, uint64_t *value) {
  if (f->length != 8) return false;
  *value = load_u64(f->bytes);
  return true;
}

void frame_begin(struct frame_builder *b, uint8_t type, uint32_t stream) {
  frame_header_write(b->bytes, 0, type, 0, stream);
  b->length = FRAME_HEADER_BYTES;
}

void frame_bytes(struct frame_builder *b, uint8_t tag, const void *bytes, size_t length) {
  size_t room = sizeof b->bytes - b->length;
  if (room < 5) return;
  if (length > room - 5) length = room - 5;
  b->bytes[b->length] = tag;
  store_u32(b->bytes + b->length + 1, (uint32_t)length);
  memcpy(b->bytes + b->length + 5, bytes, length);
  b->length += 5 + length;
}

void frame_u8(struct frame_builder *b, uint8_t tag, uint8_t value) { frame_bytes(b, tag, &value, 1); }
void frame_u32(struct frame_builder *b, uint8_t tag, uint32_t value) {
  uint8_t bytes[4];
  store_u32(bytes, value);
  frame_bytes(b, tag, bytes, sizeof bytes);
}
void frame_u64(struct frame_builder *b, uint8_t tag, uint64_t value) {
  uint8_t bytes[8];
  store_u64(bytes, value);
  frame_bytes(b, tag, bytes, sizeof bytes);
}
void frame_text(struct frame_builder *b, uint8_t tag, const char *text) { frame_bytes(b, tag, text, strlen(text)); }
void frame_end(struct frame_builder *b) { store_u32(b->bytes, (uint32_t)(b->length - FRAME_HEADER_BYTES)); }
