/**
 * Isolation, system calls: what the filter leaves out is answered by the filter, with the error that programs know how to handle.
 */
import type { Proofs } from '../subject.ts'
import { holds } from './attack-program.ts'
import type { Ground } from './ground.ts'

/** The names and the expected errors are in `attacks/filter.c`. */
const CALLS = [
  'socketpair of AF_PACKET', 'socketpair of AF_VSOCK', 'socketpair of AF_XDP', 'socketpair of AF_NETLINK', 'socket of AF_ALG',
  'socket of AF_TIPC', 'socket of SCTP', 'socket of MPTCP', 'socket of SOCK_SEQPACKET', 'socket of SOCK_PACKET',
  'netlink other than NETLINK_ROUTE', 'io_setup', 'open_tree_attr', 'quotactl_fd', 'set_mempolicy_home_node', 'set_mempolicy', 'mbind',
  'landlock_create_ruleset', 'landlock_add_rule', 'landlock_restrict_self', 'memfd_secret', 'fsopen', 'io_uring_enter', 'kcmp',
  'personality that executes data', 'ioprio_set for all processes of the user',
] as const // prettier-ignore

export const SYSTEM_CALLS: Proofs<Ground> = Object.fromEntries(
  CALLS.map((name) => [
    `the filter answers ${name}`,
    async ({ attacked }: Ground) => {
      await holds(attacked.inside, 'filtered', name)
    },
  ]),
)
