#include "passwd.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Enough for any sane sandbox; a larger file is read up to here. */
static char text[65536];

static const char *load(const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return NULL;
  size_t length = 0;
  for (ssize_t got; length < sizeof text - 1 && (got = read(fd, text + length, sizeof text - 1 - length)) > 0;)
    length += (size_t)got;
  close(fd);
  text[length] = 0;
  return text;
}

/* Splits `name:x:ID:…` at its first three colons; false when the line is something else. */
static bool parse_line(const char *line, size_t *name_length, uint32_t *id, const char **rest) {
  const char *colon = strchr(line, ':');
  const char *second = colon ? strchr(colon + 1, ':') : NULL;
  const char *newline = strchr(line, '\n');
  if (!second || (newline && second > newline)) return false;
  char *end;
  unsigned long value = strtoul(second + 1, &end, 10);
  if (end == second + 1 || value > UINT32_MAX) return false;
  *name_length = (size_t)(colon - line);
  *id = (uint32_t)value;
  *rest = *end == ':' ? end + 1 : end;
  return true;
}

static const char *next_line(const char *line) {
  const char *newline = strchr(line, '\n');
  return newline && newline[1] ? newline + 1 : NULL;
}

bool passwd_find(const char *name, uid_t *uid, gid_t *gid) {
  size_t length, wanted = strlen(name);
  uint32_t id;
  const char *rest;
  for (const char *line = load("/etc/passwd"); line; line = next_line(line)) {
    if (!parse_line(line, &length, &id, &rest) || length != wanted || memcmp(line, name, wanted) != 0) continue;
    *uid = id;
    *gid = (gid_t)strtoul(rest, NULL, 10);
    return true;
  }
  return false;
}

static void name_of(const char *path, uint32_t wanted, char *name, size_t size) {
  size_t length;
  uint32_t id;
  const char *rest;
  for (const char *line = load(path); line; line = next_line(line)) {
    if (!parse_line(line, &length, &id, &rest) || id != wanted || length == 0 || length >= size) continue;
    memcpy(name, line, length);
    name[length] = 0;
    return;
  }
  snprintf(name, size, "%u", wanted);
}

void passwd_user_name(uid_t uid, char *name, size_t size) { name_of("/etc/passwd", uid, name, size); }
void passwd_group_name(gid_t gid, char *name, size_t size) { name_of("/etc/group", gid, name, size); }
