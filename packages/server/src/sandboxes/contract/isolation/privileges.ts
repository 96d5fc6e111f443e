/**
 * Isolation, privileges: a command is nobody, can become nobody else, and finds the kernel's dangerous doors shut.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { expect } from 'vitest'
import { run } from '../outcome.ts'
import type { Proofs } from '../subject.ts'
import { attack, holds } from './attack-program.ts'
import type { Ground } from './ground.ts'

const NAMESPACES = ['user', 'mount', 'pid', 'network', 'ipc', 'host name', 'control group', 'time'] as const

const CALLS = [
  'keyctl', 'add_key', 'bpf', 'perf_event_open', 'userfaultfd', 'io_uring_setup', 'reboot', 'kexec_load', 'init_module', 'swapon',
  'acct', 'sethostname', 'clock_settime', 'sched_setscheduler', 'setpriority', 'setrlimit', 'iopl',
  'unshare through the 32-bit door', 'keyctl through the 32-bit door', 'bpf through the 32-bit door',
  'io_uring_setup through the 32-bit door', 'unshare through the x32 door', 'keyctl through the x32 door',
] as const // prettier-ignore

async function statusOf({ attacked }: Ground): Promise<Readonly<Record<string, string>>> {
  const { stdout } = await attack(attacked.inside, 'show', '/proc/self/status')
  return Object.fromEntries([...stdout.matchAll(/^(\w+):\s+(.*)$/gm)].map(([, key = '', value = '']) => [key, value]))
}

export const PRIVILEGES: Proofs<Ground> = {
  'run as root or in a group of root': async ({ attacked }) => {
    await holds(attacked.inside, 'identify')
  },
  'become root by asking': async ({ attacked }) => {
    await holds(attacked.inside, 'become-root')
  },
  'hold a capability in any of the five sets': async (ground) => {
    const none = '0000000000000000'
    expect(await statusOf(ground)).toMatchObject({ CapInh: none, CapPrm: none, CapEff: none, CapBnd: none, CapAmb: none })
  },
  'gain privileges by executing something': async (ground) => {
    expect(await statusOf(ground)).toMatchObject({ NoNewPrivs: '1' })
  },
  'run without a system call filter': async (ground) => {
    expect(await statusOf(ground)).toMatchObject({ Seccomp: '2' })
  },
  'become root by a setuid file in a mount': async ({ attacked }) => {
    const ran = await run(attacked.inside, ['/mnt/attacks/attack-as-root', 'identify'])
    expect(ran.stdout).toMatch(/^held: /)
  },
  'become root by a setuid file made inside': async ({ attacked }) => {
    const script = 'cp /mnt/attacks/attack /workspace/copy && chmod 6755 /workspace/copy && /workspace/copy identify'
    expect((await run(attacked.inside, ['/bin/sh', '-c', script])).stdout).toMatch(/^held: /)
  },
  'join a namespace of the guest': async ({ attacked }) => {
    await holds(attacked.inside, 'join-namespaces')
  },
  'type into the terminal of the host': async ({ attacked }) => {
    await holds(attacked.inside, 'type-into-terminal')
  },
  'map the null page under an old personality': async ({ attacked }) => {
    await holds(attacked.inside, 'map-null-page')
  },
  ...Object.fromEntries(
    NAMESPACES.map((name) => [
      `enter a new ${name} namespace`,
      async ({ attacked }: Ground) => {
        await holds(attacked.inside, 'enter-namespace', name)
      },
    ]),
  ),
  ...Object.fromEntries(
    CALLS.map((name) => [
      `call ${name}`,
      async ({ attacked }: Ground) => {
        await holds(attacked.inside, 'call', name)
      },
    ]),
  ),
}
