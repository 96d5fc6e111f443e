/*
 * Terminals: how many pseudo-terminals a sandbox may have open.
 *
 * The kernel has one number for the whole machine; a bound for each sandbox's own devpts keeps one from taking all of them.
 */
#ifndef HOLDFAST_LAUNCHER_TERMINALS_H
#define HOLDFAST_LAUNCHER_TERMINALS_H

#include <sys/types.h>

/* Ends the program with a report unless the kernel shows afterwards that it holds. */
void limit_terminals(pid_t init, const char *most);

#endif
