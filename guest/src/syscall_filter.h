/*
 * The system call filter: an allow list, the same on every backend. What is not in it does not exist (ENOSYS), so that libraries fall back
 * to older calls as they do on an older kernel; what every kernel refuses without privilege is refused (EPERM).
 * Why an allow list, and which programs were run under it: docs/adr/0021-allow-list.md, docs/seccomp.md
 */
#ifndef HOLDFAST_SYSCALL_FILTER_H
#define HOLDFAST_SYSCALL_FILTER_H

#include "bpf.h"

#include <sys/types.h>

struct syscall_rules {
  /* Files take space on a disk by being written and in no other way. */
  bool refuses_reserving;
  /* No file becomes set-user-ID or set-group-ID: files belong to somebody else on the host. */
  bool refuses_set_id;
  /* Commands are root of the sandbox and may become any of its users but the guest, which has this uid. */
  bool protects_guest_user;
  uid_t guest_user;
};

/* Writes the filter into `p`, which starts as zeroes. False when it cannot be expressed, which is a mistake in the tables. */
bool syscall_filter_build(struct bpf_program *p, struct syscall_rules rules);

#endif
