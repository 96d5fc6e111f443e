/* See terminals.h. */
#define _GNU_SOURCE
#include "terminals.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "mounted-options.h"
#include "report.h"

enum { DEVPTS_MAGIC = 0x1cd1 };

static const char WHAT[] = "limit terminals";

/* Options that are not given again fall back to their defaults. */
static const char *const KEPT[] = {"gid", "mode", "ptmxmode", "uid"};
enum { KEPT_COUNT = sizeof KEPT / sizeof *KEPT };

static bool find(const char *options, const char *name, char value[32]) {
  char start[16];
  snprintf(start, sizeof start, ",%s=", name);
  const char *at = strstr(options, start);
  if (at == NULL) return false;
  snprintf(value, 32, "%.*s", (int)strcspn(at + strlen(start), ","), at + strlen(start));
  return true;
}

void limit_terminals(pid_t init, const char *most) {
  const struct mounted terminals = {.init = init, .point = "/dev/pts", .magic = DEVPTS_MAGIC};
  char text[MOUNT_OPTIONS_BYTES], values[KEPT_COUNT][32], shown[32];
  struct mount_option options[KEPT_COUNT + 1];
  size_t count = 0;
  mounted_options_read(terminals, WHAT, text);
  for (size_t i = 0; i < KEPT_COUNT; i++) {
    if (find(text, KEPT[i], values[i])) options[count++] = (struct mount_option){KEPT[i], values[i]};
  }
  options[count++] = (struct mount_option){"max", most};
  mounted_options_set(terminals, WHAT, options, count);
  mounted_options_read(terminals, WHAT, text);
  if (!find(text, "max", shown) || strcmp(shown, most) != 0) fail(WHAT, "/dev/pts still has no bound");
}
