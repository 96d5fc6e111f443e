#include "syscall_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/falloc.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "the system call filter knows x86_64 and aarch64"
#endif

static const uint16_t ALLOWED[] = {
  SYS_accept, SYS_accept4, SYS_bind, SYS_brk, SYS_capget, SYS_capset, SYS_chdir, SYS_clock_getres, SYS_clock_gettime, SYS_clock_nanosleep,
  SYS_close, SYS_connect, SYS_copy_file_range, SYS_dup, SYS_dup3, SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait, SYS_eventfd2,
  SYS_execve, SYS_execveat, SYS_exit, SYS_exit_group, SYS_faccessat, SYS_fadvise64, SYS_fchdir, SYS_fchmod, SYS_fchmodat, SYS_fchown,
  SYS_fchownat, SYS_fcntl, SYS_fdatasync, SYS_fgetxattr, SYS_flistxattr, SYS_flock, SYS_fremovexattr, SYS_fsetxattr, SYS_fstat,
  SYS_fstatfs, SYS_fsync, SYS_ftruncate, SYS_futex, SYS_get_robust_list, SYS_getcpu, SYS_getcwd, SYS_getdents64, SYS_getegid, SYS_geteuid,
  SYS_getgid, SYS_getgroups, SYS_getitimer, SYS_getpeername, SYS_getpgid, SYS_getpid, SYS_getppid, SYS_getpriority, SYS_getrandom,
  SYS_getresgid, SYS_getresuid, SYS_getrlimit, SYS_getrusage, SYS_getsid, SYS_getsockname, SYS_getsockopt, SYS_gettid, SYS_gettimeofday,
  SYS_getuid, SYS_getxattr, SYS_inotify_add_watch, SYS_inotify_init1, SYS_inotify_rm_watch, SYS_ioprio_get, SYS_kill, SYS_lgetxattr,
  SYS_linkat, SYS_listen, SYS_listxattr, SYS_llistxattr, SYS_lremovexattr, SYS_lseek, SYS_lsetxattr, SYS_madvise, SYS_membarrier,
  SYS_memfd_create, SYS_mincore, SYS_mkdirat, SYS_mknodat, SYS_mlock, SYS_mlock2, SYS_mlockall, SYS_mmap, SYS_mprotect, SYS_mq_getsetattr,
  SYS_mq_notify, SYS_mq_open, SYS_mq_timedreceive, SYS_mq_timedsend, SYS_mq_unlink, SYS_mremap, SYS_msgctl, SYS_msgget, SYS_msgrcv,
  SYS_msgsnd, SYS_msync, SYS_munlock, SYS_munlockall, SYS_munmap, SYS_nanosleep, SYS_newfstatat, SYS_openat, SYS_pipe2, SYS_pkey_alloc,
  SYS_pkey_free, SYS_pkey_mprotect, SYS_ppoll, SYS_prctl, SYS_pread64, SYS_preadv, SYS_preadv2, SYS_process_vm_readv,
  SYS_process_vm_writev, SYS_pselect6, SYS_ptrace, SYS_pwrite64, SYS_pwritev, SYS_pwritev2, SYS_read, SYS_readahead, SYS_readlinkat,
  SYS_readv, SYS_recvfrom, SYS_recvmmsg, SYS_recvmsg, SYS_remap_file_pages, SYS_removexattr, SYS_renameat, SYS_renameat2,
  SYS_restart_syscall, SYS_rseq, SYS_rt_sigaction, SYS_rt_sigpending, SYS_rt_sigprocmask, SYS_rt_sigqueueinfo, SYS_rt_sigreturn,
  SYS_rt_sigsuspend, SYS_rt_sigtimedwait, SYS_rt_tgsigqueueinfo, SYS_sched_get_priority_max, SYS_sched_get_priority_min,
  SYS_sched_getaffinity, SYS_sched_getattr, SYS_sched_getparam, SYS_sched_getscheduler, SYS_sched_rr_get_interval, SYS_sched_yield,
  SYS_seccomp, SYS_semctl, SYS_semget, SYS_semop, SYS_semtimedop, SYS_sendfile, SYS_sendmmsg, SYS_sendmsg, SYS_sendto,
  SYS_set_robust_list, SYS_set_tid_address, SYS_setfsgid, SYS_setfsuid, SYS_setgid, SYS_setgroups, SYS_setitimer, SYS_setpgid,
  SYS_setregid, SYS_setresgid, SYS_setresuid, SYS_setreuid, SYS_setrlimit, SYS_setsid, SYS_setsockopt, SYS_setuid, SYS_setxattr,
  SYS_shmat, SYS_shmctl, SYS_shmdt, SYS_shmget, SYS_shutdown, SYS_sigaltstack, SYS_signalfd4, SYS_splice, SYS_statfs, SYS_statx,
  SYS_symlinkat, SYS_sync, SYS_sync_file_range, SYS_syncfs, SYS_sysinfo, SYS_tee, SYS_tgkill, SYS_timer_create, SYS_timer_delete,
  SYS_timer_getoverrun, SYS_timer_gettime, SYS_timer_settime, SYS_timerfd_create, SYS_timerfd_gettime, SYS_timerfd_settime, SYS_times,
  SYS_tkill, SYS_truncate, SYS_umask, SYS_uname, SYS_unlinkat, SYS_utimensat, SYS_vmsplice, SYS_wait4, SYS_waitid, SYS_write, SYS_writev,
#if defined(__x86_64__)
  SYS_access, SYS_alarm, SYS_arch_prctl, SYS_chmod, SYS_chown, SYS_creat, SYS_dup2, SYS_epoll_create, SYS_epoll_wait, SYS_eventfd,
  SYS_fork, SYS_futimesat, SYS_getdents, SYS_getpgrp, SYS_inotify_init, SYS_lchown, SYS_link, SYS_lstat, SYS_mkdir, SYS_mknod, SYS_open,
  SYS_pause, SYS_pipe, SYS_poll, SYS_readlink, SYS_rename, SYS_rmdir, SYS_select, SYS_signalfd, SYS_stat, SYS_symlink, SYS_time,
  SYS_unlink, SYS_utime, SYS_utimes, SYS_vfork,
#endif
  /* From 424 on every architecture has the same numbers. They are written by hand, because older headers lack them. */
  424 /* pidfd_send_signal */, 434 /* pidfd_open */, 436 /* close_range */, 437 /* openat2 */, 438 /* pidfd_getfd */,
  439 /* faccessat2 */, 441 /* epoll_pwait2 */, 449 /* futex_waitv */, 452 /* fchmodat2 */, 453 /* map_shadow_stack */,
  454 /* futex_wake */, 455 /* futex_wait */, 456 /* futex_requeue */, 462 /* mseal */, 463 /* setxattrat */, 464 /* getxattrat */,
  465 /* listxattrat */, 466 /* removexattrat */,
};

/* What needs privilege on every kernel: programs know EPERM as the answer, and report it as what it is. */
static const uint16_t REFUSED[] = {
  SYS_unshare, SYS_setns, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_bpf, SYS_perf_event_open, SYS_fanotify_init,
  SYS_add_key, SYS_request_key, SYS_keyctl, SYS_open_by_handle_at, SYS_name_to_handle_at, SYS_init_module, SYS_finit_module,
  SYS_delete_module, SYS_kexec_load, SYS_kexec_file_load, SYS_reboot, SYS_swapon, SYS_swapoff, SYS_acct, SYS_quotactl, SYS_syslog,
  SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime, SYS_adjtimex, SYS_sethostname, SYS_setdomainname, SYS_vhangup,
#if defined(__x86_64__)
  SYS_ioperm, SYS_iopl, SYS_modify_ldt,
#endif
};

/* Numbers from here on are absent: the calls of x32, which are the same kernel under other numbers, and those that are still to come. */
enum { NUMBER_END = 512 };

/* What is done with a number. Those after REFUSE look at arguments. */
enum action {
  ABSENT,
  ALLOW,
  REFUSE,
  BY_CLONE_FLAGS,
  BY_SOCKET_KIND,
  BY_IOCTL_REQUEST,
  BY_FALLOCATE_MODE,
  BY_PERSONA,
  UNLESS_OF_OTHERS,
  UNLESS_PRIORITY_OF_GUEST,
  UNLESS_IO_PRIORITY_OF_GUEST,
  UNLESS_GUEST,
  UNLESS_GUEST_USER_FIRST,
  UNLESS_GUEST_USER_OF_TWO,
  UNLESS_GUEST_USER_OF_THREE,
  BY_MODE_SECOND,
  BY_MODE_THIRD,
  BY_OPEN_SECOND,
  BY_OPEN_THIRD,
  ACTION_COUNT,
};

struct rules {
  struct bpf_program *p;
  bpf_label start[ACTION_COUNT]; /* of what an action does */
  bpf_label no_family, no_type, no_protocol, not_supported;
};

static void load_argument(struct rules *r, unsigned n) {
  /* Arguments are 64 bits, little-endian: the low word comes first. The kernel looks at no more of those that are tested here. */
  bpf_load(r->p, (uint32_t)(offsetof(struct seccomp_data, args) + n * sizeof(uint64_t)));
}

static void when_equal(struct rules *r, uint32_t value, bpf_label then) { bpf_branch(r->p, BPF_JEQ, value, then, BPF_NEXT); }
static void when_any_bit(struct rules *r, uint32_t bits, bpf_label then) { bpf_branch(r->p, BPF_JSET, bits, then, BPF_NEXT); }

/* New namespaces open kernel surface that the sandbox's own keep closed. clone3 passes its flags by pointer, so it is absent. */
static void write_clone_rule(struct rules *r) {
  bpf_place(r->p, r->start[BY_CLONE_FLAGS]);
  load_argument(r, 0);
  when_any_bit(r, CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET, r->start[REFUSE]);
  bpf_jump(r->p, r->start[ALLOW]);
}

/*
 * AF_VSOCK, AF_ALG and other rarely used families reach the host or a wide kernel surface, and so do most protocols of netlink and the
 * internet; some queue memory that no limit counts. The answers are those of a kernel that was built without them.
 */
static void write_socket_rule(struct rules *r) {
  bpf_label internet = bpf_new_label(r->p), netlink = bpf_new_label(r->p);
  bpf_place(r->p, r->start[BY_SOCKET_KIND]);
  load_argument(r, 0);
  when_equal(r, AF_UNIX, r->start[ALLOW]);
  when_equal(r, AF_INET, internet);
  when_equal(r, AF_INET6, internet);
  when_equal(r, AF_NETLINK, netlink);
  bpf_jump(r->p, r->no_family);

  bpf_place(r->p, internet);
  load_argument(r, 1);
  /* SOCK_STREAM, SOCK_DGRAM and SOCK_RAW have neither of these bits; SOCK_SEQPACKET, SOCK_DCCP and SOCK_PACKET have one. */
  when_any_bit(r, 4 | 8, r->no_type);
  load_argument(r, 2);
  when_equal(r, IPPROTO_IP, r->start[ALLOW]);
  when_equal(r, IPPROTO_TCP, r->start[ALLOW]);
  when_equal(r, IPPROTO_UDP, r->start[ALLOW]);
  when_equal(r, IPPROTO_ICMP, r->start[ALLOW]);
  when_equal(r, IPPROTO_ICMPV6, r->start[ALLOW]);
  bpf_jump(r->p, r->no_protocol);

  bpf_place(r->p, netlink);
  load_argument(r, 2);
  when_equal(r, 0 /* NETLINK_ROUTE */, r->start[ALLOW]);
  bpf_jump(r->p, r->no_protocol);
}

/* The older requests for reserving, which the kernel takes on every file system that can reserve; their header is not for programs. */
#define RESERVE(number) (0x40305800u | (number)) /* _IOW('X', number, struct space_resv) */

static void write_ioctl_rule(struct rules *r, bool refuses_reserving) {
  static const uint32_t reserving[] = {
    RESERVE(10) /* XFS_IOC_ALLOCSP */, RESERVE(36) /* XFS_IOC_ALLOCSP64 */, RESERVE(40) /* FS_IOC_RESVSP */,
    RESERVE(42) /* FS_IOC_RESVSP64 */, RESERVE(57) /* FS_IOC_ZERO_RANGE */,
  };
  bpf_place(r->p, r->start[BY_IOCTL_REQUEST]);
  load_argument(r, 1);
  /* TIOCSTI types into somebody else's terminal; TIOCLINUX likewise. */
  when_equal(r, TIOCSTI, r->start[REFUSE]);
  when_equal(r, TIOCLINUX, r->start[REFUSE]);
  for (size_t i = 0; refuses_reserving && i < sizeof reserving / sizeof *reserving; i++) when_equal(r, reserving[i], r->not_supported);
  bpf_jump(r->p, r->start[ALLOW]);
}

/*
 * A watcher of how much is written needs time, and reserving takes none. "Not supported" is the answer of file systems that cannot
 * reserve, so programs write instead. Giving space back stays; the kernel takes it together with nothing that reserves.
 */
static void write_fallocate_rule(struct rules *r) {
  bpf_place(r->p, r->start[BY_FALLOCATE_MODE]);
  load_argument(r, 1);
  when_any_bit(r, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_COLLAPSE_RANGE, r->start[ALLOW]);
  bpf_jump(r->p, r->not_supported);
}

/* Names of 32-bit and old kernels, and addresses without randomness, which debuggers ask for; nothing that maps the null page or executes data. */
static void write_personality_rule(struct rules *r) {
  static const uint32_t personas[] = {PER_LINUX, PER_LINUX32, UNAME26, PER_LINUX32 | UNAME26, ADDR_NO_RANDOMIZE, UINT32_MAX /* query */};
  bpf_place(r->p, r->start[BY_PERSONA]);
  load_argument(r, 0);
  for (size_t i = 0; i < sizeof personas / sizeof *personas; i++) when_equal(r, personas[i], r->start[ALLOW]);
  bpf_jump(r->p, r->start[REFUSE]);
}

/*
 * Where the guest shares the commands' uid, nothing takes its descriptors or its time away: limits are set for oneself only, priorities of
 * single processes only, and none of process 1 of the sandbox, which is the guest.
 */
enum { GUEST_PID = 1, IOPRIO_OF_PROCESS = 1 };

static void write_guest_rules(struct rules *r) {
  bpf_place(r->p, r->start[UNLESS_OF_OTHERS]);
  load_argument(r, 0);
  bpf_branch(r->p, BPF_JEQ, 0, r->start[ALLOW], r->start[REFUSE]);

  bpf_label process = bpf_new_label(r->p);
  bpf_place(r->p, r->start[UNLESS_PRIORITY_OF_GUEST]);
  load_argument(r, 0);
  bpf_branch(r->p, BPF_JEQ, PRIO_PROCESS, process, r->start[REFUSE]);
  bpf_place(r->p, r->start[UNLESS_IO_PRIORITY_OF_GUEST]);
  load_argument(r, 0);
  bpf_branch(r->p, BPF_JEQ, IOPRIO_OF_PROCESS, process, r->start[REFUSE]);
  bpf_place(r->p, process);
  load_argument(r, 1);
  bpf_branch(r->p, BPF_JEQ, GUEST_PID, r->start[REFUSE], r->start[ALLOW]);

  bpf_place(r->p, r->start[UNLESS_GUEST]);
  load_argument(r, 0);
  bpf_branch(r->p, BPF_JEQ, GUEST_PID, r->start[REFUSE], r->start[ALLOW]);
}

/*
 * Where commands are root of the sandbox they may change their user. With the uid of the guest they could signal it and its supervisors,
 * so they never get that. setfsuid stays: it gives no right over processes, and the guest uses it itself.
 */
static void write_guest_user_rules(struct rules *r, uid_t guest_user) {
  const enum action actions[] = {UNLESS_GUEST_USER_FIRST, UNLESS_GUEST_USER_OF_TWO, UNLESS_GUEST_USER_OF_THREE};
  for (unsigned last = 0; last < 3; last++) {
    bpf_place(r->p, r->start[actions[last]]);
    for (unsigned n = 0; n <= last; n++) {
      load_argument(r, n);
      when_equal(r, guest_user, r->start[REFUSE]);
    }
    bpf_jump(r->p, r->start[ALLOW]);
  }
}

/*
 * The owner map of a shared directory makes files of the sandbox those of its owner, who may be root. So no mode has these bits, whatever
 * sets it: chmod, mknod, or open when it makes a file. The kernel itself drops them from mkdir.
 */
static void write_set_id_rules(struct rules *r) {
  const struct {
    enum action action;
    unsigned flags, mode; /* the numbers of the arguments; no flags: the mode always counts */
  } calls[] = {{BY_MODE_SECOND, 0, 1}, {BY_MODE_THIRD, 0, 2}, {BY_OPEN_SECOND, 1, 2}, {BY_OPEN_THIRD, 2, 3}};
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    bpf_place(r->p, r->start[calls[i].action]);
    if (calls[i].flags) {
      bpf_label makes = bpf_new_label(r->p);
      load_argument(r, calls[i].flags);
      /* O_TMPFILE has the bit of O_DIRECTORY too. Without these flags the mode is not read, and often not set. */
      bpf_branch(r->p, BPF_JSET, O_CREAT | (020000000 /* __O_TMPFILE */), makes, r->start[ALLOW]);
      bpf_place(r->p, makes);
    }
    load_argument(r, calls[i].mode);
    bpf_branch(r->p, BPF_JSET, S_ISUID | S_ISGID, r->start[REFUSE], r->start[ALLOW]);
  }
}

static void write_answers(struct rules *r) {
  const struct {
    bpf_label label;
    uint32_t answer;
  } answers[] = {
    {r->start[ABSENT], SECCOMP_RET_ERRNO | ENOSYS}, {r->start[ALLOW], SECCOMP_RET_ALLOW},
    {r->start[REFUSE], SECCOMP_RET_ERRNO | EPERM}, {r->no_family, SECCOMP_RET_ERRNO | EAFNOSUPPORT},
    {r->no_type, SECCOMP_RET_ERRNO | ESOCKTNOSUPPORT}, {r->no_protocol, SECCOMP_RET_ERRNO | EPROTONOSUPPORT},
    {r->not_supported, SECCOMP_RET_ERRNO | EOPNOTSUPP},
  };
  for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
    bpf_place(r->p, answers[i].label);
    bpf_return(r->p, answers[i].answer);
  }
}

/* The action of each number, for the search below. */
static void fill_actions(uint8_t *actions, struct syscall_rules rules) {
  memset(actions, ABSENT, NUMBER_END);
  for (size_t i = 0; i < sizeof ALLOWED / sizeof *ALLOWED; i++) actions[ALLOWED[i]] = ALLOW;
  for (size_t i = 0; i < sizeof REFUSED / sizeof *REFUSED; i++) actions[REFUSED[i]] = REFUSE;
  actions[SYS_clone] = BY_CLONE_FLAGS;
  actions[SYS_socket] = actions[SYS_socketpair] = BY_SOCKET_KIND;
  actions[SYS_ioctl] = BY_IOCTL_REQUEST;
  actions[SYS_fallocate] = rules.refuses_reserving ? BY_FALLOCATE_MODE : ALLOW;
  actions[SYS_personality] = BY_PERSONA;
  actions[SYS_prlimit64] = UNLESS_OF_OTHERS;
  actions[SYS_setpriority] = UNLESS_PRIORITY_OF_GUEST;
  actions[SYS_ioprio_set] = UNLESS_IO_PRIORITY_OF_GUEST;
  actions[SYS_sched_setscheduler] = actions[SYS_sched_setparam] = UNLESS_GUEST;
  actions[SYS_sched_setattr] = actions[SYS_sched_setaffinity] = UNLESS_GUEST;
  if (rules.protects_guest_user) {
    actions[SYS_setuid] = UNLESS_GUEST_USER_FIRST;
    actions[SYS_setreuid] = UNLESS_GUEST_USER_OF_TWO;
    actions[SYS_setresuid] = UNLESS_GUEST_USER_OF_THREE;
  }
  if (rules.refuses_set_id) {
    actions[SYS_fchmod] = BY_MODE_SECOND;
    actions[SYS_fchmodat] = actions[452 /* fchmodat2 */] = actions[SYS_mknodat] = BY_MODE_THIRD;
    actions[SYS_openat] = BY_OPEN_THIRD;
    /* Its mode is behind a pointer. Programs fall back to openat, as on a kernel before 5.6. */
    actions[437 /* openat2 */] = ABSENT;
#if defined(__x86_64__)
    actions[SYS_chmod] = actions[SYS_creat] = actions[SYS_mknod] = BY_MODE_SECOND;
    actions[SYS_open] = BY_OPEN_SECOND;
#endif
  }
}

/* Binary search for the loaded number: it is between `first` and `end` of `starts`, the first numbers of runs with one action. */
static void write_search(struct rules *r, const uint8_t *actions, const uint16_t *starts, size_t first, size_t end) {
  if (end - first == 1) {
    bpf_jump(r->p, r->start[actions[starts[first]]]);
    return;
  }
  size_t middle = first + (end - first) / 2;
  bpf_label upper = bpf_new_label(r->p);
  bpf_branch(r->p, BPF_JGE, starts[middle], upper, BPF_NEXT);
  write_search(r, actions, starts, first, middle);
  bpf_place(r->p, upper);
  write_search(r, actions, starts, middle, end);
}

bool syscall_filter_build(struct bpf_program *p, struct syscall_rules rules) {
  struct rules r = {.p = p};
  for (int action = 0; action < ACTION_COUNT; action++) r.start[action] = bpf_new_label(p);
  bpf_label *others[] = {&r.no_family, &r.no_type, &r.no_protocol, &r.not_supported};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) *others[i] = bpf_new_label(p);

  uint8_t actions[NUMBER_END + 1];
  uint16_t starts[NUMBER_END + 1];
  size_t run_count = 0;
  fill_actions(actions, rules);
  actions[NUMBER_END] = ABSENT;
  for (uint16_t number = 0; number <= NUMBER_END; number++)
    if (number == 0 || actions[number] != actions[number - 1]) starts[run_count++] = number;

  bpf_label native = bpf_new_label(p);
  bpf_load(p, offsetof(struct seccomp_data, arch));
  bpf_branch(p, BPF_JEQ, NATIVE_ARCH, native, BPF_NEXT);
  bpf_return(p, SECCOMP_RET_KILL_PROCESS);
  bpf_place(p, native);
  bpf_load(p, offsetof(struct seccomp_data, nr));
  write_search(&r, actions, starts, 0, run_count);

  write_clone_rule(&r);
  write_socket_rule(&r);
  write_ioctl_rule(&r, rules.refuses_reserving);
  write_fallocate_rule(&r);
  write_personality_rule(&r);
  write_guest_rules(&r);
  write_guest_user_rules(&r, rules.guest_user);
  write_set_id_rules(&r);
  write_answers(&r);
  return bpf_finish(p);
}
