/**
 * Isolation, kernel memory: queues that a program fills without receiving from them hold no more than the memory limit and a quarter of it.
 */
import { expect } from 'vitest'
import { countsTcpApart } from '../../backends/engine/tcp-limit.ts'
import { tcpBufferBytes } from '../../backends/tcp-buffers.ts'
import { isServerRoot } from '../../sandbox-user.ts'
import { NotHere } from '../subject.ts'
import type { Proofs } from '../subject.ts'
import { attack } from './attack-program.ts'
import { needing, type Ground } from './ground.ts'

const MEMORY_BYTES = 512 * 1024 * 1024

const QUEUES = ['TCP connections', 'UDP sockets', 'unix streams', 'unix datagrams', 'pipes', 'netlink messages', 'netlink answers'] as const

export const KERNEL_MEMORY: Proofs<Ground> = {
  ...Object.fromEntries(
    QUEUES.map((kind) => [
      `fill ${kind} beyond the memory limit`,
      (ground: Ground) => withstands(ground, 'fill-queues', kind, String(MEMORY_BYTES * 1.25)),
    ]),
  ),

  // The kernel gives every TCP socket some memory beyond the limit of cgroup version 1, so their number counts.
  'fill 13,440 TCP sockets beyond their limit': async (ground) => {
    const isApart = await countsTcpApart()
    if (isApart && !isServerRoot()) throw new NotHere('a server that is not root cannot limit TCP buffers on cgroup version 1')
    const limitBytes = isApart ? tcpBufferBytes(MEMORY_BYTES) : MEMORY_BYTES
    await withstands(ground, 'fill-many-connections', String(limitBytes + MEMORY_BYTES / 4))
  },
}

async function withstands(ground: Ground, name: string, ...values: readonly string[]): Promise<void> {
  needing(ground, 'memory')
  await ground.fresh({ limits: { memoryBytes: MEMORY_BYTES } }, async ({ inside }) => {
    // Where the queue counts as memory, the kernel kills the program that fills it, or the whole sandbox; the server may kill it too.
    const ran = await attack(inside, name, ...values).catch(async () => {
      expect(await inside.closed).toBeInstanceOf(Error)
      return null
    })
    if (ran !== null && ran.signal !== 'SIGKILL') expect(ran.stdout).toMatch(/^held: /)
  })
}
