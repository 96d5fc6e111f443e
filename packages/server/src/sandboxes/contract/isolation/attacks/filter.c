/*
 * The system call filter: calls that it leaves out, each with the answer that the filter gives. The arguments are such that a kernel
 * without the filter answers something else.
 */
#include "attack.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static long pair_of(int family) {
  int ends[2];
  return socketpair(family, SOCK_DGRAM, 0, ends);
}
static long pair_packet(void) { return pair_of(AF_PACKET); }
static long pair_vsock(void) { return pair_of(AF_VSOCK); }
static long pair_xdp(void) { return pair_of(44 /* AF_XDP */); }
static long pair_netlink(void) {
  int ends[2];
  return socketpair(AF_NETLINK, SOCK_RAW, 2 /* NETLINK_USERSOCK */, ends);
}
static long open_alg(void) { return socket(AF_ALG, SOCK_SEQPACKET, 0); }
static long open_tipc(void) { return socket(30 /* AF_TIPC */, SOCK_RDM, 0); }
static long open_sctp(void) { return socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP); }
static long open_mptcp(void) { return socket(AF_INET6, SOCK_STREAM, 262 /* IPPROTO_MPTCP */); }
static long open_seqpacket(void) { return socket(AF_INET, SOCK_SEQPACKET, 0); }
static long open_old_packet(void) { return socket(AF_INET, SOCK_PACKET | SOCK_CLOEXEC, 0); }

/* Every protocol but NETLINK_ROUTE: the first that is not refused is the answer. */
static long open_netlink(void) {
  for (int protocol = 1; protocol < 32; protocol++) {
    if (socket(AF_NETLINK, SOCK_RAW, protocol) >= 0) return protocol;
    if (errno != EPROTONOSUPPORT) return -1;
  }
  return -1;
}

static long call_io_setup(void) {
  uint64_t context = 0;
  return syscall(SYS_io_setup, 1, &context);
}
static long call_open_tree_attr(void) { return syscall(467, -1, "", 0x1000 /* AT_EMPTY_PATH */, NULL, 0); }
static long call_quotactl_fd(void) { return syscall(443, -1, 0, 0, NULL); }
static long call_home_node(void) { return syscall(450, 0, 0, 0, 0); }
static long call_mempolicy(void) { return syscall(SYS_set_mempolicy, 0 /* MPOL_DEFAULT */, NULL, 0); }
static long call_mbind(void) { return syscall(SYS_mbind, 0, 0, 0, NULL, 0, 0); }
static long call_landlock_create(void) { return syscall(444, NULL, 0, 1 /* LANDLOCK_CREATE_RULESET_VERSION */); }
static long call_landlock_add(void) { return syscall(445, -1, 1, NULL, 0); }
static long call_landlock_restrict(void) { return syscall(446, -1, 0); }
static long call_memfd_secret(void) { return syscall(447, 0); }
static long call_fsopen(void) { return syscall(430, "tmpfs", 0); }
static long call_io_uring_enter(void) { return syscall(426, -1, 0, 0, 0, NULL, 0); }
static long call_kcmp(void) { return syscall(SYS_kcmp, getpid(), getpid(), 0, 0, 0); }
static long call_persona(void) { return personality(READ_IMPLIES_EXEC); }
static long call_io_priority(void) { return syscall(SYS_ioprio_set, 3 /* IOPRIO_WHO_USER */, getuid(), 2 << 13 | 4); }

static const struct {
  const char *name;
  long (*call)(void);
  int answer;
} CALLS[] = {
    {"socketpair of AF_PACKET", pair_packet, EAFNOSUPPORT},
    {"socketpair of AF_VSOCK", pair_vsock, EAFNOSUPPORT},
    {"socketpair of AF_XDP", pair_xdp, EAFNOSUPPORT},
    {"socketpair of AF_NETLINK", pair_netlink, EPROTONOSUPPORT},
    {"socket of AF_ALG", open_alg, EAFNOSUPPORT},
    {"socket of AF_TIPC", open_tipc, EAFNOSUPPORT},
    {"socket of SCTP", open_sctp, EPROTONOSUPPORT},
    {"socket of MPTCP", open_mptcp, EPROTONOSUPPORT},
    {"socket of SOCK_SEQPACKET", open_seqpacket, ESOCKTNOSUPPORT},
    {"socket of SOCK_PACKET", open_old_packet, ESOCKTNOSUPPORT},
    {"netlink other than NETLINK_ROUTE", open_netlink, EPROTONOSUPPORT},
    {"io_setup", call_io_setup, ENOSYS},
    {"open_tree_attr", call_open_tree_attr, ENOSYS},
    {"quotactl_fd", call_quotactl_fd, ENOSYS},
    {"set_mempolicy_home_node", call_home_node, ENOSYS},
    {"set_mempolicy", call_mempolicy, ENOSYS},
    {"mbind", call_mbind, ENOSYS},
    {"landlock_create_ruleset", call_landlock_create, ENOSYS},
    {"landlock_add_rule", call_landlock_add, ENOSYS},
    {"landlock_restrict_self", call_landlock_restrict, ENOSYS},
    {"memfd_secret", call_memfd_secret, ENOSYS},
    {"fsopen", call_fsopen, ENOSYS},
    {"io_uring_enter", call_io_uring_enter, ENOSYS},
    {"kcmp", call_kcmp, ENOSYS},
    {"personality that executes data", call_persona, EPERM},
    {"ioprio_set for all processes of the user", call_io_priority, EPERM},
};

/* filtered NAME */
static int filtered(int count, char **arguments) {
  (void)count;
  for (size_t index = 0; index < sizeof CALLS / sizeof *CALLS; index++) {
    if (strcmp(CALLS[index].name, arguments[0]) != 0) continue;
    errno = 0;
    long result = CALLS[index].call();
    if (result < 0 && errno == CALLS[index].answer) return held("%s", strerror(errno));
    return broken("%s gave %ld (%s) instead of %s", arguments[0], result, strerror(errno), strerror(CALLS[index].answer));
  }
  return unable("no call is named %s", arguments[0]);
}

const struct attack FILTER_ATTACKS[] = {
    {"filtered", filtered, 1},
    {NULL, NULL, 0},
};
