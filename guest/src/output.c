/* Records on stdout, buffered; failures on stderr. */
#include "applets.h"
#include "passwd.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char buffer[65536];
static size_t buffered;

void put_flush(void) {
  for (size_t done = 0; done < buffered;) {
    ssize_t written = write(1, buffer + done, buffered - done);
    if (written < 0 && errno != EINTR) exit(EPIPE);
    if (written > 0) done += (size_t)written;
  }
  buffered = 0;
}

void put_bytes(const void *bytes, size_t length) {
  const char *next = bytes;
  while (length > 0) {
    if (buffered == sizeof buffer) put_flush();
    size_t part = sizeof buffer - buffered < length ? sizeof buffer - buffered : length;
    memcpy(buffer + buffered, next, part);
    buffered += part;
    next += part;
    length -= part;
  }
}

void put_string(const char *text) { put_bytes(text, strlen(text) + 1); }

static char type_letter(mode_t mode) {
  return S_ISREG(mode) ? 'f' : S_ISDIR(mode) ? 'd' : S_ISLNK(mode) ? 'l' : S_ISFIFO(mode) ? 'p'
       : S_ISSOCK(mode) ? 's' : S_ISCHR(mode) ? 'c' : 'b';
}

static long long nanoseconds(struct timespec time) { return (long long)time.tv_sec * 1000000000LL + time.tv_nsec; }

/* Listings name the same few owners again and again; the files are read once per change of id. */
static const char *owner_name(uid_t uid) {
  static uid_t last = (uid_t)-1;
  static char name[64];
  if (uid != last || !name[0]) passwd_user_name(uid, name, sizeof name);
  last = uid;
  return name;
}

static const char *group_name(gid_t gid) {
  static gid_t last = (gid_t)-1;
  static char name[64];
  if (gid != last || !name[0]) passwd_group_name(gid, name, sizeof name);
  last = gid;
  return name;
}

void put_entry(const char *path, int directory, const char *name, const struct stat *s) {
  char line[512], target[PATH_MAX] = "";
  snprintf(line, sizeof line, "%c %o %u %u %lld %lld %lld %lld %lu %s %s", type_letter(s->st_mode), s->st_mode & 07777u,
           s->st_uid, s->st_gid, (long long)s->st_size, nanoseconds(s->st_mtim), nanoseconds(s->st_atim),
           nanoseconds(s->st_ctim), (unsigned long)s->st_nlink, owner_name(s->st_uid), group_name(s->st_gid));
  if (S_ISLNK(s->st_mode)) {
    ssize_t length = readlinkat(directory, name, target, sizeof target - 1);
    target[length > 0 ? length : 0] = 0;
  }
  put_string(line);
  put_string(path);
  put_string(target);
}

void put_truncated(const char *by) {
  put_string("truncated");
  put_string(by);
  put_string("");
}

void put_total(long total) {
  char text[32];
  snprintf(text, sizeof text, "%ld", total);
  put_string("total");
  put_string(text);
  put_string("");
}

int fail_with(int error, const char *what, const char *path) {
  dprintf(2, "%s %s: %s", what, path, strerror(error));
  return error;
}

int fail(const char *what, const char *path) { return fail_with(errno, what, path); }

bool has_flag(const char *flags, char flag) { return flags && strchr(flags, flag); }
