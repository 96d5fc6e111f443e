#include "lockdown.h"
#include "syscall_filter.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool install_filter(bool refuses_reserving) {
  struct bpf_program program = {0};
  if (!syscall_filter_build(&program, refuses_reserving)) {
    errno = EINVAL;
    return false;
  }
  struct sock_fprog installed = {.len = program.length, .filter = program.code};
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &installed) == 0;
}

const char *lockdown(bool refuses_reserving) {
  /* Commands may share our uid: without this they could read our memory and descriptors through /proc. */
  if (prctl(PR_SET_DUMPABLE, 0) != 0) return "set non-dumpable";
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return "set no_new_privs";
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  for (unsigned long capability = 0; capability < 64; capability++) {
    if (prctl(PR_CAPBSET_READ, capability) != 1) continue;
    /* Without CAP_SETPCAP the set stays; no_new_privs already makes it worthless to a command. */
    if (prctl(PR_CAPBSET_DROP, capability) != 0) break;
  }
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  struct __user_cap_data_struct data[2];
  if (syscall(SYS_capget, &header, data) != 0) return "read capabilities";
  data[0].inheritable = data[1].inheritable = 0;
  if (syscall(SYS_capset, &header, data) != 0) return "clear inheritable capabilities";
  return install_filter(refuses_reserving) ? NULL : "install the system call filter";
}
