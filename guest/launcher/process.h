/*
 * Processes on record: a pid alone may be reused, a pid with its start time never is.
 */
#ifndef HOLDFAST_LAUNCHER_PROCESS_H
#define HOLDFAST_LAUNCHER_PROCESS_H

#include <sys/types.h>

/* Clock ticks after boot, field 22 of /proc/PID/stat; 0 when the process is gone. */
unsigned long long process_starttime(pid_t pid);

/* The only child of `parent`, or 0 while it has none. */
pid_t process_only_child(pid_t parent);

/* Opens `processes` in the state directory; a line there is what destroy relies on after any crash. */
int record_open(int state_directory);

/* Appends `role pid starttime` and answers the start time. One write per line, so a reader never sees half of one. */
unsigned long long record_process(int record, const char *role, pid_t pid);

#endif
