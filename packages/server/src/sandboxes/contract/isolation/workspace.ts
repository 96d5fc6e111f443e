/**
 * Isolation, the bound of a workspace: what a program can do to hold more than the measurement finds, and that it stands still while the
 * server measures.
 */
import { execFile } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import type { Inhabited } from '../laboratory.ts'
import { lineFrom } from '../outcome.ts'
import type { Proofs } from '../subject.ts'
import { NotHere } from '../subject.ts'
import { ATTACK, holds } from './attack-program.ts'
import { needing, type Ground } from './ground.ts'

const MEBIBYTE = 1024 * 1024

/** A sandbox whose workspace has a bound, while the attack goes on. */
function holding(attack: readonly string[], proof: (ground: Ground, workspace: string, sandbox: Inhabited) => Promise<void>) {
  return async (ground: Ground): Promise<void> => {
    const source = ground.laboratory.hostDirectory(`bounded-${crypto.randomUUID()}`)
    await ground.fresh({ refusesReserving: true, mounts: [{ source, target: '/workspace', mode: 'rw' }] }, async (sandbox) => {
      const execution = await sandbox.inside.exec({ argv: [...attack] })
      await lineFrom(execution.output, (line) => line.startsWith('held: ') || line.startsWith('writes'))
      await proof(ground, source, sandbox)
      await execution.kill()
    })
  }
}

/** As the server does it: the guest's binary, on the host. */
async function measure({ laboratory }: Ground, workspace: string): Promise<Readonly<Record<string, number>>> {
  const program = laboratory.needs.guestPath
  const { stdout } = await promisify(execFile)(program, ['measure', '-1', '-1', '-1', '-1', '-1', workspace, '/workspace'])
  return Object.fromEntries([...stdout.matchAll(/(\w+)=(\d+)/g)].map(([, name = '', value]) => [name, Number(value)]))
}

/** The server sees the programs of a sandbox only where it may look at them. */
function needingRoot(): void {
  if (process.getuid?.() !== 0) throw new NotHere('only root sees what programs of other users hold')
}

export const WORKSPACE: Proofs<Ground> = {
  'removed files that lie in messages': holding(
    [ATTACK, 'hold-in-flight', '/workspace', '8', String(MEBIBYTE)],
    async (ground, workspace) => {
      needingRoot()
      expect(await measure(ground, workspace)).toMatchObject({ unseen: 0 })
      expect((await measure(ground, workspace))['bytes']).toBeGreaterThanOrEqual(8 * MEBIBYTE)
    },
  ),

  'a removed file that lies in a connection nobody accepts': holding(
    [ATTACK, 'hold-unaccepted', '/workspace', String(MEBIBYTE)],
    async (ground, workspace) => {
      needingRoot()
      expect(await measure(ground, workspace)).toMatchObject({ unseen: 1 })
    },
  ),

  'a removed file that a Landlock rule holds': (ground) =>
    ground.fresh({ refusesReserving: true }, async ({ inside }) => {
      await holds(inside, 'landlock-ruleset')
    }),

  'a writer that goes on while its workspace is measured': holding(
    ['/bin/sh', '-c', 'cd /workspace; echo writes; while :; do echo more >> grows; done'],
    async (ground, workspace, { name, inside }) => {
      const { laboratory } = ground
      // Sandboxes are frozen through the cgroups that also limit them.
      needing(ground, 'pids')
      const { freezer } = laboratory.backend
      if (freezer === undefined) throw new NotHere('this backend cannot freeze')
      const size = () => statSync(join(workspace, 'grows'), { throwIfNoEntry: false })?.size ?? 0
      await expect.poll(size).toBeGreaterThan(0)
      await freezer.freeze(name)
      const frozen = size()
      await pause(300)
      expect(size()).toBe(frozen)
      // What a server that was killed left frozen goes on when the next one finds it.
      await laboratory.backend.attach(name)
      await expect.poll(size).toBeGreaterThan(frozen)
      await inside.ping()
      await freezer.freeze(name)
      await freezer.thaw(name)
      await freezer.thaw(name)
      await inside.ping()
    },
  ),
}
