#include "lockdown.h"
#include "syscall_filter.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Of commands that are root of the sandbox: files of every user, other users, ports below 1024. Not among them: KILL, SYS_PTRACE and
 * SYS_NICE, which reach the guest; SETPCAP and SETFCAP; and all that reach beyond files, such as SYS_ADMIN, NET_ADMIN, NET_RAW and MKNOD.
 */
static const unsigned char ROOT_CAPABILITIES[] = {CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID, CAP_SETGID, CAP_SETUID, CAP_NET_BIND_SERVICE};

static bool is_kept(unsigned long capability, struct syscall_rules rules) {
  for (size_t i = 0; rules.protects_guest_user && i < sizeof ROOT_CAPABILITIES; i++)
    if (ROOT_CAPABILITIES[i] == capability) return true;
  return false;
}

static bool install_filter(struct syscall_rules rules) {
  struct bpf_program program = {0};
  if (!syscall_filter_build(&program, rules)) {
    errno = EINVAL;
    return false;
  }
  struct sock_fprog installed = {.len = program.length, .filter = program.code};
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &installed) == 0;
}

const char *lockdown(struct syscall_rules rules) {
  /* Commands may share our uid: without this they could read our memory and descriptors through /proc. */
  if (prctl(PR_SET_DUMPABLE, 0) != 0) return "set non-dumpable";
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return "set no_new_privs";
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  for (unsigned long capability = 0; capability < 64; capability++) {
    if (prctl(PR_CAPBSET_READ, capability) != 1 || is_kept(capability, rules)) continue;
    /* Without CAP_SETPCAP the set stays; no_new_privs already makes it worthless to a command. */
    if (prctl(PR_CAPBSET_DROP, capability) != 0) break;
  }
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  struct __user_cap_data_struct data[2];
  if (syscall(SYS_capget, &header, data) != 0) return "read capabilities";
  data[0].inheritable = data[1].inheritable = 0;
  if (syscall(SYS_capset, &header, data) != 0) return "clear inheritable capabilities";
  return install_filter(rules) ? NULL : "install the system call filter";
}
