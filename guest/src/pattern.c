/* Glob patterns over relative paths. */
#include "applets.h"

#include <limits.h>
#include <string.h>

/* One character class `[…]` against c. `pattern` points behind the bracket; returns the end, or NULL when malformed. */
static const char *match_class(const char *pattern, char c, bool *matches) {
  bool negated = *pattern == '!' || *pattern == '^';
  if (negated) pattern++;
  bool found = false;
  const char *first = pattern;
  for (; *pattern && (*pattern != ']' || pattern == first); pattern++) {
    char low = *pattern, high = low;
    if (pattern[1] == '-' && pattern[2] && pattern[2] != ']') {
      high = pattern[2];
      pattern += 2;
    }
    if (c >= low && c <= high) found = true;
  }
  if (*pattern != ']') return NULL;
  *matches = found != negated;
  return pattern + 1;
}

/* Backtracking is bounded: patterns are short and a budget stops the pathological ones. */
static bool match(const char *p, const char *s, bool below, int *budget) {
  while (*p) {
    if (--*budget < 0) return false;
    /* Reading on below a directory: whatever of the path is left to be written may still match. */
    if (below && !*s) return true;
    if (p[0] == '*' && p[1] == '*') {
      const char *rest = p + 2;
      if (*rest == '/') {
        if (match(rest + 1, s, below, budget)) return true;
        for (const char *slash = strchr(s, '/'); slash; slash = strchr(slash + 1, '/'))
          if (match(rest + 1, slash + 1, below, budget)) return true;
        return below;
      }
      for (;; s++) {
        if (match(rest, s, below, budget)) return true;
        if (!*s) return below;
      }
    }
    if (*p == '*') {
      for (;; s++) {
        if (match(p + 1, s, below, budget)) return true;
        if (!*s || *s == '/') return false;
      }
    }
    if (!*s) return false;
    if (*p == '?') {
      if (*s == '/') return false;
      p++;
    } else if (*p == '[') {
      bool matches;
      const char *end = match_class(p + 1, *s, &matches);
      if (!end) {
        if (*s != '[') return false;
        p++;
      } else {
        if (!matches || *s == '/') return false;
        p = end;
      }
    } else {
      if (*p == '\\' && p[1]) p++;
      if (*p != *s) return false;
      p++;
    }
    s++;
  }
  return !*s;
}

/* Expands the first `{a,b}` and tries each; nested braces expand in turn. */
static bool expand(const char *pattern, const char *path, bool below, int *budget) {
  const char *open = strchr(pattern, '{');
  const char *close = NULL;
  int depth = 0;
  for (const char *c = open; c && *c && !close; c++) {
    if (*c == '{') depth++;
    if (*c == '}' && --depth == 0) close = c;
  }
  if (!close) return match(pattern, path, below, budget);
  const char *part = open + 1;
  for (const char *c = part; c <= close; c++) {
    if (*c == '{') depth++;
    if (c < close && *c == '}') depth--;
    if (c != close && (*c != ',' || depth > 0)) continue;
    char candidate[PATH_MAX];
    size_t before = (size_t)(open - pattern), inner = (size_t)(c - part), after = strlen(close + 1);
    if (before + inner + after >= sizeof candidate || --*budget < 0) return false;
    memcpy(candidate, pattern, before);
    memcpy(candidate + before, part, inner);
    memcpy(candidate + before + inner, close + 1, after + 1);
    if (expand(candidate, path, below, budget)) return true;
    part = c + 1;
  }
  return false;
}

bool pattern_matches(const char *pattern, const char *path) {
  int budget = 100000;
  return expand(pattern, path, false, &budget);
}

bool pattern_may_match_below(const char *pattern, const char *path) {
  char prefix[PATH_MAX];
  size_t length = strlen(path);
  if (length + 2 > sizeof prefix) return false;
  memcpy(prefix, path, length);
  memcpy(prefix + length, "/", 2);
  int budget = 100000;
  return expand(pattern, prefix, true, &budget);
}
