#include "start_request.h"

#include "frame.h"
#include "guest.h"

#include <stdlib.h>
#include <string.h>

static const char *take_string(const struct field *field, char **free_space) {
  if (memchr(field->bytes, 0, field->length)) return NULL;
  char *copy = *free_space;
  memcpy(copy, field->bytes, field->length);
  copy[field->length] = 0;
  *free_space += field->length + 1;
  return copy;
}

static bool take_rlimit(const struct field *field, struct program *program) {
  if (field->length != 20 || program->rlimit_count == MAX_RLIMITS) return false;
  program->rlimits[program->rlimit_count].resource = (int)load_u32(field->bytes);
  program->rlimits[program->rlimit_count].limit =
    (struct rlimit){.rlim_cur = load_u64(field->bytes + 4), .rlim_max = load_u64(field->bytes + 12)};
  program->rlimit_count++;
  return true;
}

static size_t count_fields(const uint8_t *payload, uint32_t length) {
  struct field_reader reader = {payload, payload + length};
  struct field field;
  size_t count = 0;
  while (field_next(&reader, &field) == 1) count++;
  return count;
}

static bool take_field(struct start_request *r, const struct field *field, char **space) {
  const char *text;
  switch (field->tag) {
    case TAG_ARGV: text = take_string(field, space); r->argv[r->argc++] = (char *)(uintptr_t)text; return text != NULL;
    case TAG_ENV: text = take_string(field, space); r->env[r->envc++] = (char *)(uintptr_t)text; return text != NULL;
    case TAG_CWD: return (r->cwd = take_string(field, space)) != NULL;
    case TAG_USER: return (r->user = take_string(field, space)) != NULL;
    case TAG_TAG: return field->length > 0 && field->length <= MAX_TAG && (r->tag = take_string(field, space)) != NULL;
    case TAG_UID: r->has_uid = true; return field_u32(field, &r->uid);
    case TAG_GID: r->has_gid = true; return field_u32(field, &r->gid);
    case TAG_SELF: return field_u8(field, &r->self);
    case TAG_STDIN: return field_u8(field, &r->stdin_mode);
    case TAG_EPHEMERAL: return field_u8(field, &r->ephemeral);
    case TAG_TIMEOUT_MS: return field_u32(field, &r->timeout_ms);
    case TAG_GRACE_MS: return field_u32(field, &r->grace_ms);
    case TAG_WINDOW: return field_u32(field, &r->window);
    case TAG_RLIMIT: return take_rlimit(field, &r->program);
    case TAG_PTY:
      if (field->length != 4) return false;
      r->has_pty = true;
      r->cols = load_u16(field->bytes);
      r->rows = load_u16(field->bytes + 2);
      return true;
    default: return false;
  }
}

bool start_request_parse(const uint8_t *payload, uint32_t length, struct start_request *r) {
  *r = (struct start_request){.cwd = "/"};
  size_t fields = count_fields(payload, length);
  /* Every field costs five bytes of header, so the payload's own length holds all strings and their ends. */
  size_t pointers = (fields + 1) * 2 * sizeof(char *);
  r->block_size = pointers + length + 1;
  r->block = malloc(r->block_size);
  if (!r->block) return false;
  r->argv = (char **)(void *)r->block;
  r->env = r->argv + fields + 1;
  char *space = r->block + pointers;
  struct field_reader reader = {payload, payload + length};
  struct field field;
  int result;
  while ((result = field_next(&reader, &field)) == 1)
    if (!take_field(r, &field, &space)) return false;
  r->argv[r->argc] = r->env[r->envc] = NULL;
  return result == 0 && r->argc > 0;
}
