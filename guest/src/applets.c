/* The table of applets. */
#include "applets.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
  const char *name;
  applet *run;
  int arguments; /* at least */
} APPLETS[] = {
  {"read", applet_read, 1}, {"write", applet_write, 2}, {"stat", applet_stat, 1}, {"list", applet_list, 1},
  {"mkdir", applet_mkdir, 1}, {"move", applet_move, 2}, {"remove", applet_remove, 1}, {"chmod", applet_chmod, 2},
  {"chown", applet_chown, 3}, {"glob", applet_glob, 2}, {"grep", applet_grep, 2}, {"watch", applet_watch, 1},
  {"stats", applet_stats, 0}, {"measure", applet_measure, 7}, {"give", applet_give, 3}, {"point", applet_point, 5},
};

int applet_run(const char *name, int argc, char **argv) {
  for (size_t i = 0; i < sizeof APPLETS / sizeof *APPLETS; i++) {
    if (strcmp(name, APPLETS[i].name) != 0) continue;
    if (argc - 1 < APPLETS[i].arguments) {
      dprintf(2, "%s needs %d arguments", name, APPLETS[i].arguments);
      return EINVAL;
    }
    int result = APPLETS[i].run(argc, argv);
    put_flush();
    return result;
  }
  return -1;
}
