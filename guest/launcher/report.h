/*
 * What the launcher says to the server: one JSON line on stdout, then it ends.
 */
#ifndef HOLDFAST_LAUNCHER_REPORT_H
#define HOLDFAST_LAUNCHER_REPORT_H

#include <sys/types.h>

/* {"ok":false,"stage":…,"reason":…}, then exit 1. Nothing is undone here: the server destroys by name. */
__attribute__((noreturn, format(printf, 2, 3))) void fail(const char *stage, const char *format, ...);

/* {"ok":true,"pid":…,"starttime":…} of the jail's first process. */
void report_started(pid_t init, unsigned long long starttime);

#endif
