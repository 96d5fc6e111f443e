/**
 * Isolation, kernel memory: queues that a program fills without receiving from them hold no more than the memory limit and a quarter of it.
 */
import { expect } from 'vitest'
import type { Proofs } from '../subject.ts'
import { attack } from './attack-program.ts'
import { needing, type Ground } from './ground.ts'

const MEMORY_BYTES = 512 * 1024 * 1024

/** On cgroup v1 each TCP socket may add 67 KB (THREAT-MODEL.md). */
const QUEUES = ['TCP connections', 'UDP sockets', 'unix streams', 'unix datagrams', 'pipes', 'netlink messages', 'netlink answers'] as const

export const KERNEL_MEMORY: Proofs<Ground> = Object.fromEntries(
  QUEUES.map((kind) => [
    `fill ${kind} beyond the memory limit`,
    async (ground: Ground) => {
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
