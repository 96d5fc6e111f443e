#include "selection.h"

#include <string.h>

static bool parse_tag(const struct field *field, char *tag) {
  if (field->length == 0 || field->length > MAX_TAG || memchr(field->bytes, 0, field->length)) return false;
  memcpy(tag, field->bytes, field->length);
  tag[field->length] = 0;
  return true;
}

bool selection_parse(const uint8_t *payload, uint32_t length, struct selection *selection) {
  *selection = (struct selection){0};
  struct field_reader reader = {payload, payload + length};
  struct field field;
  int result;
  bool is_sound = true;
  while (is_sound && (result = field_next(&reader, &field)) == 1) {
    switch (field.tag) {
      case TAG_ID: is_sound = field_u64(&field, &selection->id); break;
      case TAG_TAG: is_sound = parse_tag(&field, selection->tag); break;
      case TAG_AFTER: is_sound = field_u64(&field, &selection->after); break;
      case TAG_SEQ: is_sound = field_u64(&field, &selection->seq); break;
      case TAG_TOKEN: is_sound = field_u64(&field, &selection->token); break;
      case TAG_WINDOW: is_sound = field_u32(&field, &selection->window); break;
      case TAG_SIGNO: is_sound = field_u32(&field, &selection->signal); break;
      case TAG_GRACE_MS: is_sound = field_u32(&field, &selection->grace_ms); break;
      case TAG_UID: selection->has_uid = true; is_sound = field_u32(&field, &selection->uid); break;
      case TAG_COLS: is_sound = field_u16(&field, &selection->cols); break;
      case TAG_ROWS: is_sound = field_u16(&field, &selection->rows); break;
      case TAG_TREE: is_sound = field_u8(&field, &selection->tree); break;
      default: is_sound = false;
    }
  }
  return is_sound && result == 0;
}
