/**
 * Isolation, processes: the host's processes are neither seen nor touched, and nothing takes hold of the guest.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect } from 'vitest'
import { run } from '../outcome.ts'
import type { Proofs } from '../subject.ts'
import { ATTACK, holds, runsCommands } from './attack-program.ts'
import type { Ground } from './ground.ts'
import { needing } from './ground.ts'

/** A process of the host, known by a marker in its command line. */
async function withHostProcess(attempt: (marker: string, pid: number) => Promise<unknown>): Promise<void> {
  const marker = `holdfast-contract-${crypto.randomUUID()}`
  const child = spawn('/bin/sh', ['-c', 'echo up; read line', marker], { stdio: ['pipe', 'pipe', 'inherit'] })
  try {
    await once(child.stdout, 'data')
    if (child.pid === undefined) throw new Error('the host process did not start')
    await attempt(marker, child.pid)
    expect(child.exitCode ?? child.signalCode, 'the host process was hit').toBeNull()
  } finally {
    child.kill('SIGKILL')
  }
}

function touchingGuest(...ways: readonly string[]): (ground: Ground) => Promise<void> {
  return async ({ attacked }) => {
    for (const way of ways) await holds(attacked.inside, 'touch-guest', way)
    await attacked.inside.ping()
  }
}

export const PROCESSES: Proofs<Ground> = {
  'see a process of the host': ({ attacked }) => withHostProcess((marker) => holds(attacked.inside, 'find-process', marker)),

  'kill a process of the host by its number': ({ attacked }) =>
    withHostProcess((_marker, pid) => holds(attacked.inside, 'signal-process', String(pid))),

  'see a process of a neighbour': async ({ attacked, neighbour }) => {
    const marker = `neighbour-${crypto.randomUUID()}`
    const theirs = await neighbour.inside.exec({ argv: ['/bin/sh', '-c', 'sleep 1000', marker] })
    await holds(attacked.inside, 'find-process', marker)
    await theirs.kill()
  },

  'send every signal to the guest': async ({ attacked }) => {
    await holds(attacked.inside, 'signal-guest')
    await attacked.inside.ping()
    await runsCommands(attacked.inside)
  },

  'trace the guest': touchingGuest('ptrace', 'seize'),
  'take away the limits of the guest': touchingGuest('prlimit'),
  'read the memory of the guest': touchingGuest('vm', 'mem', 'maps'),
  'read the environment of the guest': touchingGuest('environ'),
  'use the descriptors of the guest': touchingGuest('descriptor', 'fd'),
  'follow the guest to its root and directory': touchingGuest('root', 'cwd', 'exe'),
  'slow the guest down': touchingGuest('priority', 'affinity', 'scheduler'),
  'offer the guest to the OOM killer': touchingGuest('oom'),

  'kill everything that can be killed': async ({ attacked, laboratory }) => {
    const { severalUsers } = laboratory.capabilities
    const victim = await attacked.inside.exec({ argv: ['sleep', '1000'] })
    // With one user only it kills its own supervisor too, and dies of that unless it ends first.
    if (severalUsers) await holds(attacked.inside, 'kill-everything')
    else await run(attacked.inside, [ATTACK, 'kill-everything'])
    // Its own processes it may kill; that must then be reported, and the guest must go on. Without a supervisor nobody saw the signal.
    const { exitCode, signal } = await victim.exit
    expect(exitCode).toBeNull()
    expect(severalUsers ? ['SIGKILL'] : ['SIGKILL', null]).toContain(signal)
    await runsCommands(attacked.inside)
  },

  'drown the guest in orphans': (ground) => {
    needing(ground, 'pids')
    return ground.fresh({ limits: { pids: 64 } }, async ({ inside }) => {
      // Three hundred at once are more than may live here: the next can only be made when the dead are collected.
      for (let round = 0; round < 3; round++) await holds(inside, 'leave-orphans')
      await expect.poll(async () => (await inside.stats()).pids).toBeLessThan(16)
    })
  },
}
