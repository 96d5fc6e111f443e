/*
 * Neighbours in one sandbox do not see each other's processes: /proc inside is given `hidepid=invisible`, from outside.
 *
 * Done to the mounted file system itself, by root of the host, so that neither the jail program nor an engine needs to
 * know the option, and the sandbox needs no capability to set it. Only its own users can be hidden from: the guest is in
 * the group that sees all.
 */
#ifndef HOLDFAST_LAUNCHER_HIDDEN_PROCESSES_H
#define HOLDFAST_LAUNCHER_HIDDEN_PROCESSES_H

#include <sys/types.h>

/* `guest_group` as the host numbers it. Ends the program with a report unless the kernel shows afterwards that it holds. */
void hide_processes(pid_t init, gid_t guest_group);

/* The same, to a pid namespace made for the purpose: whether this host lets us. Answers the pid of its first process. */
pid_t try_hiding_processes(void);

#endif
