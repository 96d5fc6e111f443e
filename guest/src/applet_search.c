/* glob and grep. */
#include "applets.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_FILE_BYTES (10 << 20)
#define MAX_LINE_BYTES 500

static bool glob_visit(struct walk *walk, int directory, const char *name, const char *path, const char *relative, const struct stat *status) {
  const char *pattern = walk->context;
  if (pattern_matches(pattern, relative)) {
    if (walk->limit-- == 0) {
      walk->was_cut = true;
      return false;
    }
    put_entry(path, directory, name, status);
  }
  return pattern_may_match_below(pattern, relative);
}

int applet_glob(int argc, char **argv) {
  struct walk walk = {
    .max_depth = INT_MAX, .limit = argc > 3 ? atol(argv[3]) : LONG_MAX, .skips_ignored = argc > 4 && has_flag(argv[4], 'i'),
    .visit = glob_visit, .context = argv[2],
  };
  int error = walk_tree(argv[1], &walk);
  if (error) return fail_with(error, "cannot search", argv[1]);
  if (walk.was_cut) put_truncated();
  return 0;
}

struct search {
  const char *literal, *include;
  bool ignores_case;
  regex_t regex;
};

/* POSIX has no \d; everything else people write (\w \s \b) glibc knows. The result may be twice as long and a bit. */
static char *translate(const char *regex) {
  char *result = malloc(strlen(regex) * 6 + 1), *out = result;
  if (!result) return NULL;
  for (; *regex; regex++) {
    if (regex[0] == '\\' && (regex[1] == 'd' || regex[1] == 'D')) {
      out = stpcpy(out, regex[1] == 'd' ? "[0-9]" : "[^0-9]");
      regex++;
    } else if (regex[0] == '\\' && regex[1]) {
      *out++ = *regex++;
      *out++ = *regex;
    } else *out++ = *regex;
  }
  *out = 0;
  return result;
}

static bool line_matches(const struct search *search, const char *line, size_t length) {
  if (search->literal) {
    size_t wanted = strlen(search->literal);
    if (!search->ignores_case) return memmem(line, length, search->literal, wanted) != NULL;
    for (size_t at = 0; at + wanted <= length; at++)
      if (strncasecmp(line + at, search->literal, wanted) == 0) return true;
    return false;
  }
  regmatch_t range = {.rm_so = 0, .rm_eo = (regoff_t)length};
  return regexec(&search->regex, line, 1, &range, REG_STARTEND) == 0;
}

static bool put_match(struct walk *walk, const char *path, long number, const char *line, size_t length) {
  if (walk->limit-- == 0) {
    walk->was_cut = true;
    return false;
  }
  char text[32];
  snprintf(text, sizeof text, "%ld", number);
  put_string(text);
  put_string(path);
  put_bytes(line, length < MAX_LINE_BYTES ? length : MAX_LINE_BYTES);
  put_string("");
  return true;
}

static void search_bytes(struct walk *walk, const char *path, const char *bytes, size_t size) {
  const struct search *search = walk->context;
  size_t look = size < 8192 ? size : 8192;
  if (memchr(bytes, 0, look)) return;
  long number = 1;
  for (const char *line = bytes, *end = bytes + size; line < end; number++) {
    const char *newline = memchr(line, '\n', (size_t)(end - line));
    size_t length = (size_t)((newline ? newline : end) - line);
    if (line_matches(search, line, length) && !memchr(line, 0, length) && !put_match(walk, path, number, line, length)) return;
    line += length + 1;
  }
}

static bool grep_visit(struct walk *walk, int directory, const char *name, const char *path, const char *relative, const struct stat *status) {
  (void)relative;
  const struct search *search = walk->context;
  if (!S_ISREG(status->st_mode)) return true;
  if (status->st_size == 0 || status->st_size > MAX_FILE_BYTES) return true;
  if (search->include[0] && !pattern_matches(search->include, name)) return true;
  int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return true;
  /* Read, not mapped: a file that shrinks under a mapping would kill us. */
  char *bytes = malloc((size_t)status->st_size + 1);
  size_t have = 0;
  for (ssize_t got; bytes && have < (size_t)status->st_size && (got = read(fd, bytes + have, (size_t)status->st_size - have)) > 0;)
    have += (size_t)got;
  if (bytes) {
    bytes[have] = 0;
    search_bytes(walk, path, bytes, have);
  }
  free(bytes);
  close(fd);
  return true;
}

int applet_grep(int argc, char **argv) {
  const char *flags = argc > 5 ? argv[5] : "";
  struct search search = {.include = argc > 3 ? argv[3] : "", .ignores_case = has_flag(flags, 'c')};
  if (has_flag(flags, 'l')) search.literal = argv[2];
  else {
    char *regex = translate(argv[2]);
    int error = regex ? regcomp(&search.regex, regex, REG_EXTENDED | REG_NEWLINE | (search.ignores_case ? REG_ICASE : 0)) : REG_ESPACE;
    free(regex);
    if (error) {
      char reason[128];
      regerror(error, &search.regex, reason, sizeof reason);
      dprintf(2, "the regular expression %.200s is not valid: %s", argv[2], reason);
      return EINVAL;
    }
  }
  struct walk walk = {
    .max_depth = INT_MAX, .limit = argc > 4 ? atol(argv[4]) : LONG_MAX, .skips_ignored = has_flag(flags, 'i'),
    .visit = grep_visit, .context = &search,
  };
  int error = walk_tree(argv[1], &walk);
  if (error == ENOTDIR) {
    struct stat status;
    if (fstatat(AT_FDCWD, argv[1], &status, 0) == 0) grep_visit(&walk, AT_FDCWD, argv[1], argv[1], "", &status);
    error = 0;
  }
  if (!search.literal) regfree(&search.regex);
  if (error) return fail_with(error, "cannot search", argv[1]);
  if (walk.was_cut) put_truncated();
  return 0;
}
