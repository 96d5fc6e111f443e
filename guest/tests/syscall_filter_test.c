#include "../src/syscall_filter.h"
#include "claim.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/falloc.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#define FOREIGN_ARCH AUDIT_ARCH_I386
#else
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#define FOREIGN_ARCH AUDIT_ARCH_ARM
#endif

enum { ALLOWED = 0 };
static struct bpf_program usual, without_reserving, without_set_id, root_inside;
static unsigned steps;

/* Runs the program as the kernel does. */
static uint32_t evaluate(const struct bpf_program *p, const struct seccomp_data *data) {
  uint32_t loaded = 0;
  steps = 0;
  for (unsigned at = 0; at < p->length; at++, steps++) {
    const struct sock_filter *i = &p->code[at];
    bool is_true = false;
    switch (i->code) {
      case BPF_LD | BPF_W | BPF_ABS: memcpy(&loaded, (const char *)data + i->k, sizeof loaded); continue;
      case BPF_RET | BPF_K: return i->k;
      case BPF_JMP | BPF_JA: at += i->k; continue;
      case BPF_JMP | BPF_JEQ | BPF_K: is_true = loaded == i->k; break;
      case BPF_JMP | BPF_JGE | BPF_K: is_true = loaded >= i->k; break;
      case BPF_JMP | BPF_JSET | BPF_K: is_true = (loaded & i->k) != 0; break;
      default: return UINT32_MAX;
    }
    at += is_true ? i->jt : i->jf;
  }
  return UINT32_MAX;
}

/* What a call of this architecture gets: ALLOWED, an errno, or -1 for anything else. */
static int answer_to(const struct bpf_program *p, const struct seccomp_data *data) {
  uint32_t result = evaluate(p, data);
  if (result == SECCOMP_RET_ALLOW) return ALLOWED;
  return (result & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO ? (int)(result & SECCOMP_RET_DATA) : -1;
}

static int answer(const struct bpf_program *p, long number, uint64_t a, uint64_t b, uint64_t c) {
  return answer_to(p, &(struct seccomp_data){.nr = (int)number, .arch = NATIVE_ARCH, .args = {a, b, c}});
}

/* Calls that set a mode, with the numbers of its argument and of that of the flags that make it count; -1: it always counts. */
struct mode_call {
  long number;
  int flags, mode;
};
static const struct mode_call MODE_CALLS[] = {
  {SYS_fchmod, -1, 1}, {SYS_fchmodat, -1, 2}, {452 /* fchmodat2 */, -1, 2}, {SYS_mknodat, -1, 2}, {SYS_openat, 2, 3},
#if defined(__x86_64__)
  {SYS_chmod, -1, 1}, {SYS_creat, -1, 1}, {SYS_mknod, -1, 1}, {SYS_open, 1, 2},
#endif
};
enum { TMPFILE_BIT = 020000000 };

static int with_mode(const struct bpf_program *p, struct mode_call call, uint64_t flags, uint64_t mode) {
  struct seccomp_data data = {.nr = (int)call.number, .arch = NATIVE_ARCH};
  if (call.flags >= 0) data.args[call.flags] = flags;
  data.args[call.mode] = mode;
  return answer_to(p, &data);
}

static int plain(long number) { return answer(&usual, number, 0, 0, 0); }
static int of(long number, uint64_t a, uint64_t b, uint64_t c) { return answer(&usual, number, a, b, c); }

int main(void) {
  CLAIM("the filter can be expressed, with and without reserving", {
    EXPECT(syscall_filter_build(&usual, (struct syscall_rules){0}));
    EXPECT(syscall_filter_build(&without_reserving, (struct syscall_rules){.refuses_reserving = true}));
    EXPECT(syscall_filter_build(&without_set_id, (struct syscall_rules){.refuses_set_id = true}));
    EXPECT(syscall_filter_build(&root_inside, (struct syscall_rules){.protects_guest_user = true, .guest_user = 65533}));
  });
  CLAIM("root of a sandbox becomes any user but the guest, in no argument and with no high bits set", {
    const uint64_t guest = 65533, high = guest | 1ULL << 32, none = UINT32_MAX;
    EXPECT(answer(&root_inside, SYS_setuid, guest, 0, 0) == EPERM);
    EXPECT(answer(&root_inside, SYS_setuid, high, 0, 0) == EPERM);
    EXPECT(answer(&root_inside, SYS_setreuid, none, guest, 0) == EPERM);
    EXPECT(answer(&root_inside, SYS_setreuid, guest, none, 0) == EPERM);
    EXPECT(answer(&root_inside, SYS_setresuid, none, none, guest) == EPERM);
    EXPECT(answer(&root_inside, SYS_setresuid, none, guest, none) == EPERM);
    EXPECT(answer(&root_inside, SYS_setresuid, guest, none, none) == EPERM);
    EXPECT(answer(&root_inside, SYS_setuid, 42, guest, guest) == ALLOWED);
    EXPECT(answer(&root_inside, SYS_setresuid, 42, 42, 42) == ALLOWED);
    EXPECT(of(SYS_setuid, guest, 0, 0) == ALLOWED);
  });
  CLAIM("a foreign architecture is the end of the process", {
    struct seccomp_data data = {.nr = SYS_read, .arch = FOREIGN_ARCH};
    EXPECT(evaluate(&usual, &data) == SECCOMP_RET_KILL_PROCESS);
  });
  CLAIM("everyday calls are allowed", {
    const long calls[] = {SYS_read, SYS_write, SYS_openat, SYS_execve, SYS_exit_group, SYS_rt_sigreturn, SYS_restart_syscall, SYS_futex, SYS_mmap,
                          SYS_ptrace, SYS_seccomp, SYS_prctl, SYS_waitid, 424, 436, 439, 449, 452, 462, 466};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) EXPECT(plain(calls[i]) == ALLOWED);
  });
  CLAIM("a number that is not in the list does not exist: future calls, x32 and no number at all", {
    for (long number = 467; number < 2048; number++) EXPECT(plain(number) == ENOSYS);
    for (long number = 0; number < 1024; number++) EXPECT(plain(0x40000000 + number) == ENOSYS);
    EXPECT(plain(-1) == ENOSYS);
  });
  CLAIM("what libraries fall back from does not exist", {
    const long calls[] = {SYS_io_setup, SYS_io_submit, SYS_userfaultfd, SYS_mbind, SYS_set_mempolicy, SYS_get_mempolicy, SYS_move_pages,
                          SYS_migrate_pages, SYS_kcmp, 425, 426, 427 /* io_uring */, 428, 429, 430, 431, 432, 433, 442 /* mounts */, 435 /* clone3 */,
                          443 /* quotactl_fd */, 444, 445, 446 /* Landlock */, 447 /* memfd_secret */, 450 /* set_mempolicy_home_node */,
                          467 /* open_tree_attr */};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) EXPECT(plain(calls[i]) == ENOSYS);
  });
  CLAIM("what needs privilege is refused", {
    const long calls[] = {SYS_mount, SYS_umount2, SYS_unshare, SYS_setns, SYS_chroot, SYS_bpf, SYS_keyctl, SYS_perf_event_open, SYS_reboot};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) EXPECT(plain(calls[i]) == EPERM);
  });
  CLAIM("clone makes processes and threads, and no namespaces", {
    EXPECT(of(SYS_clone, 17 /* SIGCHLD */, 0, 0) == ALLOWED);
    EXPECT(of(SYS_clone, CLONE_VM | CLONE_THREAD | CLONE_SIGHAND, 0, 0) == ALLOWED);
    const uint64_t namespaces[] = {CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET};
    for (size_t i = 0; i < sizeof namespaces / sizeof *namespaces; i++) EXPECT(of(SYS_clone, namespaces[i] | 17, 0, 0) == EPERM);
  });
  CLAIM("sockets are unix, internet and NETLINK_ROUTE, and pairs follow the same rule", {
    const long calls[] = {SYS_socket, SYS_socketpair};
    for (size_t i = 0; i < 2; i++) {
      for (uint64_t family = 0; family < 64; family++) {
        bool is_known = family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK;
        EXPECT(of(calls[i], family, SOCK_STREAM | SOCK_CLOEXEC, 0) == (is_known ? ALLOWED : EAFNOSUPPORT));
      }
      for (uint64_t protocol = 1; protocol < 64; protocol++) EXPECT(of(calls[i], AF_NETLINK, SOCK_RAW, protocol) == EPROTONOSUPPORT);
    }
  });
  CLAIM("internet sockets are TCP, UDP and ICMP, by type and by protocol", {
    const uint64_t protocols[] = {0, 1, 6, 17, 58};
    for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++) EXPECT(of(SYS_socket, AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK, protocols[i]) == ALLOWED);
    const uint64_t others[] = {33 /* DCCP */, 115 /* L2TP */, 132 /* SCTP */, 136 /* UDP-Lite */, 255, 262 /* MPTCP */};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) EXPECT(of(SYS_socket, AF_INET, SOCK_STREAM, others[i]) == EPROTONOSUPPORT);
    const uint64_t types[] = {SOCK_RDM, SOCK_SEQPACKET, SOCK_DCCP, SOCK_PACKET};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) EXPECT(of(SYS_socket, AF_INET, types[i] | SOCK_CLOEXEC, 0) == ESOCKTNOSUPPORT);
    EXPECT(of(SYS_socket, AF_UNIX, SOCK_SEQPACKET, 0) == ALLOWED);
  });
  CLAIM("nobody types into a terminal", {
    EXPECT(of(SYS_ioctl, 0, TIOCSTI, 0) == EPERM);
    EXPECT(of(SYS_ioctl, 0, TIOCLINUX, 0) == EPERM);
    EXPECT(of(SYS_ioctl, 0, TIOCSTI | (1ull << 32), 0) == EPERM);
    EXPECT(of(SYS_ioctl, 0, TIOCGWINSZ, 0) == ALLOWED);
  });
  CLAIM("where files belong to somebody else on the host, none becomes set-user-ID or set-group-ID", {
    const uint64_t refused[] = {04000, 02000, 06755, 04755 | (1ull << 32)};
    const uint64_t making[] = {O_CREAT | O_WRONLY, TMPFILE_BIT | O_DIRECTORY | O_RDWR};
    for (size_t i = 0; i < sizeof MODE_CALLS / sizeof *MODE_CALLS; i++) {
      for (size_t k = 0; k < sizeof refused / sizeof *refused; k++)
        for (size_t m = 0; m < sizeof making / sizeof *making; m++) {
          EXPECT(with_mode(&without_set_id, MODE_CALLS[i], making[m], refused[k]) == EPERM);
          EXPECT(with_mode(&usual, MODE_CALLS[i], making[m], refused[k]) == ALLOWED);
        }
      EXPECT(with_mode(&without_set_id, MODE_CALLS[i], O_CREAT, 01777) == ALLOWED);
      /* What makes no file has no mode: whatever lies in its place does not count. */
      if (MODE_CALLS[i].flags >= 0) EXPECT(with_mode(&without_set_id, MODE_CALLS[i], O_RDONLY | O_DIRECTORY, 06777) == ALLOWED);
    }
    EXPECT(answer(&without_set_id, 437 /* openat2 */, 0, 0, 0) == ENOSYS);
    EXPECT(plain(437) == ALLOWED);
  });
  CLAIM("where a bound is set, space is given back and not reserved", {
    EXPECT(answer(&usual, SYS_fallocate, 3, 0, 0) == ALLOWED);
    EXPECT(answer(&without_reserving, SYS_fallocate, 3, 0, 0) == EOPNOTSUPP);
    EXPECT(answer(&without_reserving, SYS_fallocate, 3, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0) == ALLOWED);
    EXPECT(answer(&usual, SYS_ioctl, 3, 0x40305828, 0) == ALLOWED);
    EXPECT(answer(&without_reserving, SYS_ioctl, 3, 0x40305828, 0) == EOPNOTSUPP);
    EXPECT(answer(&without_reserving, SYS_ioctl, 3, TIOCSTI, 0) == EPERM);
  });
  CLAIM("a personality is a name of the kernel or addresses without randomness", {
    const uint64_t given[] = {0, 8, 0x20000, 0x20008, 0x40000, 0xffffffff};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) EXPECT(of(SYS_personality, given[i], 0, 0) == ALLOWED);
    EXPECT(of(SYS_personality, 0x0100000 /* MMAP_PAGE_ZERO */, 0, 0) == EPERM);
    EXPECT(of(SYS_personality, 0x0400000 /* READ_IMPLIES_EXEC */, 0, 0) == EPERM);
  });
  CLAIM("nobody changes limits of others or priorities of the guest", {
    EXPECT(of(SYS_prlimit64, 0, 7, 0) == ALLOWED && of(SYS_prlimit64, 1, 7, 0) == EPERM && of(SYS_prlimit64, 99, 7, 0) == EPERM);
    EXPECT(of(SYS_setpriority, 0, 0, 5) == ALLOWED && of(SYS_setpriority, 0, 1, 5) == EPERM);
    EXPECT(of(SYS_setpriority, 1, 0, 5) == EPERM && of(SYS_setpriority, 2, 1000, 5) == EPERM);
    EXPECT(of(SYS_ioprio_set, 1, 0, 5) == ALLOWED && of(SYS_ioprio_set, 1, 1, 5) == EPERM);
    EXPECT(of(SYS_ioprio_set, 2, 2, 5) == EPERM && of(SYS_ioprio_set, 3, 1000, 5) == EPERM);
    const long calls[] = {SYS_sched_setscheduler, SYS_sched_setparam, SYS_sched_setattr, SYS_sched_setaffinity};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) EXPECT(of(calls[i], 0, 0, 0) == ALLOWED && of(calls[i], 1, 0, 0) == EPERM);
  });
  CLAIM("any number is decided within 20 instructions", {
    for (long number = 0; number < 1024; number++) {
      (void)of(number, AF_UNIX, 0, 0);
      EXPECT(steps <= 20);
    }
  });
  return broken_claims;
}
