#include "lockdown.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/falloc.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "the system call filter knows x86_64 and aarch64"
#endif

/* Namespaces a sandboxed program may not make: each opens kernel surface that its parent namespace keeps closed. */
#define NEW_NAMESPACES \
  (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
/* Arguments are 64 bits, little-endian: the low word comes first. */
#define LOAD_ARGUMENT(n) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[n]))
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, (action))
#define DENY(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), RETURN(SECCOMP_RET_ERRNO | EPERM)
/* By one argument; the number of the call is loaded again for the rules that follow. */
#define BY_ARGUMENT(call, n, value, when_equal, when_other) \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 3), LOAD_ARGUMENT(n), \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (when_equal), (when_other)), RETURN(SECCOMP_RET_ERRNO | EPERM), LOAD(nr)
#define DENY_WHEN(call, n, value) BY_ARGUMENT(call, n, value, 0, 1)
#define DENY_UNLESS(call, n, value) BY_ARGUMENT(call, n, value, 1, 0)
#define ABSENT(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), RETURN(SECCOMP_RET_ERRNO | ENOSYS)

static const struct sock_filter FILTER[] = {
  LOAD(arch),
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0),
  RETURN(SECCOMP_RET_KILL_PROCESS),
  LOAD(nr),
#if defined(__x86_64__)
  /* The x32 calls are the same kernel under other numbers. */
  BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000u, 0, 1), RETURN(SECCOMP_RET_ERRNO | ENOSYS),
#endif
  /* clone3 passes its flags by pointer, which no filter can read; libc falls back to clone. */
  ABSENT(SYS_clone3),
  DENY(SYS_unshare), DENY(SYS_setns),
  DENY(SYS_mount), DENY(SYS_umount2), DENY(SYS_pivot_root), DENY(SYS_chroot), DENY(SYS_move_mount),
  DENY(SYS_open_tree), DENY(SYS_fsopen), DENY(SYS_fsconfig), DENY(SYS_fsmount), DENY(SYS_fspick),
  DENY(SYS_mount_setattr),
  DENY(SYS_bpf), DENY(SYS_perf_event_open), ABSENT(SYS_userfaultfd),
  ABSENT(SYS_io_uring_setup), ABSENT(SYS_io_uring_enter), ABSENT(SYS_io_uring_register),
  DENY(SYS_add_key), DENY(SYS_request_key), DENY(SYS_keyctl),
  DENY(SYS_open_by_handle_at), DENY(SYS_name_to_handle_at),
  DENY(SYS_init_module), DENY(SYS_finit_module), DENY(SYS_delete_module),
  DENY(SYS_kexec_load), DENY(SYS_kexec_file_load), DENY(SYS_reboot), DENY(SYS_swapon), DENY(SYS_swapoff),
  DENY(SYS_acct), DENY(SYS_quotactl), DENY(SYS_syslog), DENY(SYS_settimeofday), DENY(SYS_clock_settime),
  DENY(SYS_clock_adjtime), DENY(SYS_adjtimex), DENY(SYS_sethostname), DENY(SYS_setdomainname),
  DENY(SYS_lookup_dcookie), DENY(SYS_vhangup), DENY(SYS_nfsservctl), DENY(SYS_fanotify_init),
  DENY(SYS_move_pages), DENY(SYS_migrate_pages), DENY(SYS_mbind), DENY(SYS_set_mempolicy),
#if defined(__x86_64__)
  DENY(SYS_ioperm), DENY(SYS_iopl), DENY(SYS_modify_ldt), DENY(SYS_uselib), DENY(SYS_ustat), DENY(SYS_sysfs),
  DENY(SYS__sysctl), DENY(SYS_create_module), DENY(SYS_get_kernel_syms), DENY(SYS_query_module),
#endif
  /* Where the guest shares the commands' uid: no starving it of descriptors or of time. It is process 1 of the sandbox. */
  DENY_UNLESS(SYS_prlimit64, 0, 0),
  DENY_UNLESS(SYS_setpriority, 0, 0 /* PRIO_PROCESS */), DENY_WHEN(SYS_setpriority, 1, 1), DENY_WHEN(SYS_ioprio_set, 1, 1),
  DENY_WHEN(SYS_sched_setscheduler, 0, 1), DENY_WHEN(SYS_sched_setparam, 0, 1), DENY_WHEN(SYS_sched_setattr, 0, 1),
  DENY_WHEN(SYS_sched_setaffinity, 0, 1),
  /* TIOCSTI types into somebody else's terminal; TIOCLINUX likewise. */
  DENY_WHEN(SYS_ioctl, 1, 0x5412), DENY_WHEN(SYS_ioctl, 1, 0x541C),
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4),
  LOAD_ARGUMENT(0),
  BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NEW_NAMESPACES, 0, 1),
  RETURN(SECCOMP_RET_ERRNO | EPERM),
  RETURN(SECCOMP_RET_ALLOW),
  /* socket(AF_VSOCK), AF_ALG and other rarely used families reach the host or a wide kernel surface. */
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 5),
  LOAD_ARGUMENT(0),
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1 /* AF_UNIX */, 3, 0),
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 2 /* AF_INET */, 2, 0),
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 10 /* AF_INET6 */, 1, 0),
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 16 /* AF_NETLINK */, 0, 1),
  RETURN(SECCOMP_RET_ALLOW),
  RETURN(SECCOMP_RET_ERRNO | EAFNOSUPPORT),
};

/* The older words for the same, which the kernel takes on every file system that can reserve; their header is not for programs. */
#define RESERVE(number) (0x40305800u | (number)) /* _IOW('X', number, struct space_resv) */

/*
 * Whoever watches how much is written needs time, and reserving takes none. "Not supported" is what file systems answer that cannot do
 * it, so programs write instead. What gives space back stays; the kernel takes it together with nothing that reserves.
 */
static const struct sock_filter NO_RESERVING[] = {
  LOAD(nr),
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fallocate, 0, 2),
  LOAD_ARGUMENT(1),
  BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_COLLAPSE_RANGE, 7, 8),
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 6),
  LOAD_ARGUMENT(1),
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RESERVE(10) /* XFS_IOC_ALLOCSP */, 5, 0),
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RESERVE(36) /* XFS_IOC_ALLOCSP64 */, 4, 0),
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RESERVE(40) /* FS_IOC_RESVSP */, 3, 0),
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RESERVE(42) /* FS_IOC_RESVSP64 */, 2, 0),
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RESERVE(57) /* FS_IOC_ZERO_RANGE */, 1, 0),
  RETURN(SECCOMP_RET_ALLOW),
  RETURN(SECCOMP_RET_ERRNO | EOPNOTSUPP),
};

static bool install(const struct sock_filter *filter, size_t length) {
  struct sock_fprog program = {
    .len = (unsigned short)length,
    .filter = (struct sock_filter *)(uintptr_t)filter,
  };
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
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
  bool is_filtered = install(FILTER, sizeof FILTER / sizeof *FILTER);
  if (is_filtered && refuses_reserving) is_filtered = install(NO_RESERVING, sizeof NO_RESERVING / sizeof *NO_RESERVING);
  return is_filtered ? NULL : "install the system call filter";
}
