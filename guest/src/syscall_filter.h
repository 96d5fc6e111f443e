/*
 * The system call filter: an allow list, the same on every backend. What is not in it does not exist (ENOSYS), so that libraries fall back
 * to older calls as they do on an older kernel; what every kernel refuses without privilege is refused (EPERM).
 * Why an allow list, and which programs were run under it: docs/adr/0021-allow-list.md, docs/seccomp.md
 */
#ifndef HOLDFAST_SYSCALL_FILTER_H
#define HOLDFAST_SYSCALL_FILTER_H

#include "bpf.h"

/*
 * Writes the filter into `p`, which starts as zeroes. False when it cannot be expressed, which is a mistake in the tables.
 * refuses_reserving: files take space on a disk by being written and in no other way.
 */
bool syscall_filter_build(struct bpf_program *p, bool refuses_reserving);

#endif
