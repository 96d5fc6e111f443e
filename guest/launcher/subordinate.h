/*
 * Subordinate ids: a user namespace in which a server that is not root is root, over its own id and the ids that /etc/subuid and
 * /etc/subgid give its account.
 *
 * The kernel lets nobody but root write such a map, so `newuidmap` and `newgidmap` write it. They check it against both files.
 */
#ifndef HOLDFAST_LAUNCHER_SUBORDINATE_H
#define HOLDFAST_LAUNCHER_SUBORDINATE_H

/*
 * `enter|beside NEWUIDMAP UID-MAP NEWGIDMAP GID-MAP PROGRAM ARGUMENT…`, maps as in /proc/PID/uid_map with spaces between all numbers.
 * Runs PROGRAM in the namespace, or outside it with the namespace as descriptor 3. Returns never.
 */
__attribute__((noreturn)) void run_with_subordinate_ids(int argc, char **argv);

#endif
