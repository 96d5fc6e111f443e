/* grep: the lines that match, within bounds of files, bytes and time. Why POSIX regular expressions: docs/adr/0015-search-in-the-guest.md */
#include "applets.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <regex.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#define MAX_FILE_BYTES (10 << 20)
#define MAX_LINE_BYTES 2000
/* Repetitions of repetitions grow while they are compiled; the sandbox's memory is not theirs. */
#define MAX_MEMORY_BYTES (512 << 20)

struct search {
  const char *literal, *include;
  bool ignores_case, was_partial;
  regex_t regex;
  long files, bytes; /* still to be searched */
};

/* Time is up for the regular expression. It is left in the midst of its work, and never used again. */
static sigjmp_buf too_late;
static volatile sig_atomic_t is_matching, is_late;

static void run_out(int number) {
  (void)number;
  is_late = 1;
  if (is_matching) siglongjmp(too_late, 1);
}

static bool set_clock(long milliseconds) {
  struct itimerval clock = {.it_value = {.tv_sec = milliseconds / 1000, .tv_usec = milliseconds % 1000 * 1000}};
  struct sigaction action = {.sa_handler = run_out, .sa_flags = SA_RESTART};
  return sigaction(SIGVTALRM, &action, NULL) == 0 && setitimer(ITIMER_VIRTUAL, &clock, NULL) == 0;
}

static void bound_memory(void) {
#ifndef __SANITIZE_ADDRESS__
  setrlimit(RLIMIT_AS, &(struct rlimit){.rlim_cur = MAX_MEMORY_BYTES, .rlim_max = MAX_MEMORY_BYTES});
#endif
}

/* POSIX has no \d; everything else people write (\w \s \b) glibc knows. The result may be six times as long. */
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

static int compile(struct search *search, const char *regex) {
  char *translated = translate(regex);
  if (!translated) return REG_ESPACE;
  is_matching = 1;
  int error = regcomp(&search->regex, translated, REG_EXTENDED | REG_NEWLINE | REG_NOSUB | (search->ignores_case ? REG_ICASE : 0));
  is_matching = 0;
  free(translated);
  return error;
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
  is_matching = 1;
  int result = regexec(&search->regex, line, 1, &range, REG_STARTEND);
  is_matching = 0;
  return result == 0;
}

/* Never half a character. */
static size_t shown_length(const char *line, size_t length) {
  if (length <= MAX_LINE_BYTES) return length;
  size_t end = MAX_LINE_BYTES;
  while (end > MAX_LINE_BYTES - 4 && ((unsigned char)line[end] & 0xc0) == 0x80) end--;
  return end;
}

static bool put_match(struct walk *walk, const char *path, long number, const char *line, size_t length) {
  if (walk->limit-- == 0) return walk_cut(walk, "matches");
  char text[32];
  snprintf(text, sizeof text, "%ld", number);
  put_string(text);
  put_string(path);
  put_bytes(line, shown_length(line, length));
  put_string("");
  return true;
}

static bool search_bytes(struct walk *walk, const char *path, const char *bytes, size_t size) {
  const struct search *search = walk->context;
  long number = 1;
  for (const char *line = bytes, *end = bytes + size; line < end; number++) {
    const char *newline = memchr(line, '\n', (size_t)(end - line));
    size_t length = (size_t)((newline ? newline : end) - line);
    if (line_matches(search, line, length) && !memchr(line, 0, length) && !put_match(walk, path, number, line, length)) return false;
    if (is_late) return walk_cut(walk, "time");
    line += length + 1;
  }
  return true;
}

static void search_file(struct walk *walk, int fd, const char *path, off_t size) {
  struct search *search = walk->context;
  size_t wanted = size < MAX_FILE_BYTES ? (size_t)size : MAX_FILE_BYTES, have = 0;
  if (search->files-- == 0) walk_cut(walk, "files");
  else if (search->bytes < (long)wanted) walk_cut(walk, "bytes");
  if (walk->cut_by) return;
  /* Read, not mapped: a file that shrinks under a mapping would kill us. */
  char *bytes = malloc(wanted + 1);
  if (!bytes) {
    walk_cut(walk, "memory");
    return;
  }
  for (ssize_t got; have < wanted && (got = read(fd, bytes + have, wanted - have)) > 0;) have += (size_t)got;
  bytes[have] = 0;
  search->bytes -= (long)have;
  if (!memchr(bytes, 0, have < 8192 ? have : 8192)) {
    if (size > MAX_FILE_BYTES) search->was_partial = true;
    search_bytes(walk, path, bytes, have);
  }
  free(bytes);
}

static bool grep_visit(struct walk *walk, int directory, const char *name, const char *path, const char *relative, const struct stat *status) {
  const struct search *search = walk->context;
  if (!S_ISREG(status->st_mode) || status->st_size == 0) return true;
  if (search->include[0] && !pattern_matches(search->include, strchr(search->include, '/') ? relative : name)) return true;
  int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return true;
  search_file(walk, fd, path, status->st_size);
  close(fd);
  return true;
}

/* The root may be a file, which is then searched whatever its name. */
static int search_one(struct walk *walk, const char *path) {
  struct stat status;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return errno;
  int error = fstat(fd, &status) == 0 ? 0 : errno;
  if (!error && S_ISREG(status.st_mode)) search_file(walk, fd, path, status.st_size);
  close(fd);
  return error;
}

/* An argument that bounds, or no bound. */
static long bound(int argc, char **argv, int index) {
  long value = argc > index ? atol(argv[index]) : 0;
  return value > 0 ? value : LONG_MAX;
}

int applet_grep(int argc, char **argv) {
  /* Not on the stack: what a jump leaves there is anybody's guess. */
  static struct search search;
  static struct walk walk;
  const char *flags = argc > 5 ? argv[5] : "";
  search = (struct search){.include = argc > 3 ? argv[3] : "", .ignores_case = has_flag(flags, 'c')};
  search.files = bound(argc, argv, 7);
  search.bytes = bound(argc, argv, 8);
  walk = (struct walk){
    .max_depth = INT_MAX, .limit = bound(argc, argv, 4), .entries = argc > 6 ? atol(argv[6]) : 0, .skips_ignored = has_flag(flags, 'i'),
    .visit = grep_visit, .context = &search,
  };
  bound_memory();
  if (argc > 9 && atol(argv[9]) > 0 && !set_clock(atol(argv[9]))) return fail("cannot bound the time of a search in", argv[1]);
  if (sigsetjmp(too_late, 0) != 0) {
    /* The allocator may have been left in the midst of its work: nothing more is asked of it. */
    put_truncated("time");
    put_flush();
    _exit(0);
  }
  if (has_flag(flags, 'l')) search.literal = argv[2];
  else {
    int error = compile(&search, argv[2]);
    if (error) {
      char reason[128];
      regerror(error, &search.regex, reason, sizeof reason);
      dprintf(2, "the regular expression %.200s is not valid: %s", argv[2], reason);
      return EINVAL;
    }
  }
  int error = walk_tree(argv[1], &walk);
  if (error == ENOTDIR) error = search_one(&walk, argv[1]);
  if (!search.literal) regfree(&search.regex);
  if (error) return fail_with(error, "cannot search", argv[1]);
  if (walk.cut_by || search.was_partial) put_truncated(walk.cut_by ? walk.cut_by : "file");
  return 0;
}
