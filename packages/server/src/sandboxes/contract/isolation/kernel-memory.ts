/**
 * Isolation, kernel memory: queues that a program fills without receiving from them hold no more than the memory limit and a quarter of it.
 */
import { expect } from 'vitest'
import type { Proofs } from '../subject.ts'
import { NotHere } from '../subject.ts'
import { attack } from './attack-program.ts'
import { needing, type Ground } from './ground.ts'

const MEMORY_BYTES = 512 * 1024 * 1024

/** Each kind of queue, with the reason where no limit of the kernel holds. On cgroup v1 each TCP socket may add 67 KB (THREAT-MODEL.md). */
const QUEUES: Readonly<Record<string, string | null>> = {
  'TCP connections': null,
  'UDP sockets': null,
  'unix streams': null,
  'unix datagrams': null,
  pipes: null,
  'netlink messages': null,
  'netlink answers': 'no kernel counts the answers of NETLINK_ROUTE, and getifaddrs needs it (THREAT-MODEL.md)',
}

export const KERNEL_MEMORY: Proofs<Ground> = Object.fromEntries(
  Object.entries(QUEUES).map(([kind, exception]) => [
    `fill ${kind} beyond the memory limit`,
    async (ground: Ground) => {
      if (exception !== null) throw new NotHere(exception)
      needing(ground, 'memory')
      await ground.fresh({ limits: { memoryBytes: MEMORY_BYTES } }, async ({ inside }) => {
        // Where the queue counts as memory, the kernel kills: the program that fills it, or the whole sandbox.
        const ran = await attack(inside, 'fill-queues', kind, String(MEMORY_BYTES * 1.25)).catch(async () => {
          expect(await inside.closed).toBeInstanceOf(Error)
          return null
        })
        if (ran !== null && ran.signal !== 'SIGKILL') expect(ran.stdout).toMatch(/^held: /)
      })
    },
  ]),
)
