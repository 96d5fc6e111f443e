#include "../src/frame.h"
#include "claim.h"

#include <string.h>

static bool parses(uint32_t length, uint8_t type, uint8_t channel, uint16_t reserved, uint32_t stream) {
  uint8_t bytes[FRAME_HEADER_BYTES];
  struct frame_header header;
  frame_header_write(bytes, length, type, channel, stream);
  bytes[6] = (uint8_t)reserved;
  bytes[7] = (uint8_t)(reserved >> 8);
  return frame_header_parse(bytes, &header) && header.length == length && header.type == type && header.stream == stream;
}

int main(void) {
  CLAIM("a header is read as it was written", {
    EXPECT(parses(5, FRAME_EXEC, 0, 0, 7));
    EXPECT(parses(0, FRAME_PING, 0, 0, 0));
    EXPECT(parses(MAX_DATA_BYTES, FRAME_DATA, 0, 0, 0xffffffffu));
  });
  CLAIM("a header over its limit is refused", {
    EXPECT(!parses(MAX_DATA_BYTES + 1, FRAME_DATA, 0, 0, 1));
    EXPECT(!parses(MAX_REQUEST_BYTES + 1, FRAME_EXEC, 0, 0, 1));
    EXPECT(parses(MAX_REQUEST_BYTES, FRAME_EXEC, 0, 0, 1));
  });
  CLAIM("what only the guest may say, unknown types, reserved bits and wrong streams are refused", {
    EXPECT(!parses(0, FRAME_HELLO, 0, 0, 0));
    EXPECT(!parses(0, FRAME_EXIT, 0, 0, 1));
    EXPECT(!parses(0, 0, 0, 0, 1));
    EXPECT(!parses(0, 255, 0, 0, 1));
    EXPECT(!parses(0, FRAME_EXEC, 0, 1, 1));
    EXPECT(!parses(0, FRAME_DATA, 1, 0, 1));
    EXPECT(!parses(0, FRAME_EXEC, 0, 0, 0));
    EXPECT(!parses(0, FRAME_PING, 0, 0, 1));
  });
  CLAIM("fields are read back with their widths", {
    struct frame_builder builder;
    frame_begin(&builder, FRAME_REPLY, 3);
    frame_u64(&builder, TAG_ID, 0x1122334455667788u);
    frame_text(&builder, TAG_NAME, "sh");
    frame_end(&builder);
    struct field_reader reader = {builder.bytes + FRAME_HEADER_BYTES, builder.bytes + builder.length};
    struct field field;
    uint64_t id = 0;
    uint32_t narrow;
    EXPECT(field_next(&reader, &field) == 1 && field.tag == TAG_ID && field_u64(&field, &id));
    EXPECT(id == 0x1122334455667788u && !field_u32(&field, &narrow));
    EXPECT(field_next(&reader, &field) == 1 && field.length == 2 && memcmp(field.bytes, "sh", 2) == 0);
    EXPECT(field_next(&reader, &field) == 0);
    EXPECT(load_u32(builder.bytes) == builder.length - FRAME_HEADER_BYTES);
  });
  CLAIM("a field that claims more than there is is malformed", {
    const uint8_t cut[] = {1, 9, 0, 0, 0, 'a'};
    const uint8_t huge[] = {1, 0xff, 0xff, 0xff, 0xff, 'a'};
    const uint8_t stub[] = {1, 0, 0};
    struct field field;
    struct field_reader a = {cut, cut + sizeof cut};
    struct field_reader b = {huge, huge + sizeof huge};
    struct field_reader c = {stub, stub + sizeof stub};
    EXPECT(field_next(&a, &field) == -1);
    EXPECT(field_next(&b, &field) == -1);
    EXPECT(field_next(&c, &field) == -1);
  });
  CLAIM("a text too long for a frame is cut, never overrun", {
    struct frame_builder builder;
    char text[2000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    frame_begin(&builder, FRAME_END, 1);
    frame_text(&builder, TAG_MESSAGE, text);
    frame_u32(&builder, TAG_ERRNO, 5);
    frame_end(&builder);
    EXPECT(builder.length == sizeof builder.bytes);
  });
  return broken_claims;
}
