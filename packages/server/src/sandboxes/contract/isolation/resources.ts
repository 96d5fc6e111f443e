/**
 * Isolation, resources: whatever one sandbox takes, its neighbour keeps answering and its own guest comes back.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { expect } from 'vitest'
import type { Execution } from '../../../guest/inside.ts'
import type { Inhabited, Wish } from '../laboratory.ts'
import { lineFrom } from '../outcome.ts'
import type { Proofs } from '../subject.ts'
import { ATTACK, attack, holds, runsCommands } from './attack-program.ts'
import type { Ground } from './ground.ts'
import { needing, neighbourAnswers } from './ground.ts'

const MEBIBYTE = 1024 * 1024

/** Starts the attack, waits until it has taken all it can get, asks the neighbour, ends it, asks the attacked one. */
function withstanding(
  limit: 'cpus' | 'memory' | 'pids',
  wish: Wish,
  name: string,
  ...values: readonly string[]
): (ground: Ground) => Promise<void> {
  return async (ground) => {
    needing(ground, limit)
    await ground.fresh(wish, async ({ inside }) => {
      const execution = await inside.exec({ argv: [ATTACK, name, ...values] })
      expect(await lineFrom(execution.output, (line) => !line.startsWith('filled'))).toMatch(/^held: full/)
      await neighbourAnswers(ground)
      await inside.ping()
      expect(await inside.processes.kill({ id: execution.id })).toMatchObject({ verified: true })
      await runsCommands(inside)
    })
  }
}

/** Either the guest still answers, or its death is known to everybody. */
async function answersOrIsReportedDead({ laboratory }: Ground, { inside, name }: Inhabited): Promise<void> {
  const answered = await inside.ping().then(
    () => true,
    () => false,
  )
  if (answered) return
  expect(await inside.closed).toBeInstanceOf(Error)
  await expect.poll(async () => (await laboratory.backend.list()).find((each) => each.name === name)?.running).toBe(false)
}

async function memoryGrowthDuring(work: () => Promise<unknown>): Promise<number> {
  const before = process.memoryUsage().rss
  await work()
  return process.memoryUsage().rss - before
}

function flood(inside: Inhabited['inside'], bytes: number, tag: string): Promise<Execution> {
  return inside.exec({ argv: [ATTACK, 'output-flood', String(bytes)], tag })
}

export const RESOURCES: Proofs<Ground> = {
  'a fork bomb': withstanding('pids', { limits: { pids: 64 } }, 'fork-bomb'),
  'a flood of file descriptors and pipes': withstanding('pids', { limits: { pids: 48, openFiles: 256 } }, 'descriptor-flood', '256'),
  'every processor spinning': withstanding('cpus', { limits: { cpus: 0.5 } }, 'spin', '8'),

  'a memory bomb dies alone': async (ground) => {
    needing(ground, 'memory')
    await ground.fresh({ limits: { memoryBytes: 64 * MEBIBYTE } }, async ({ inside }) => {
      const bystander = await inside.exec({ argv: [ATTACK, 'escape', 'bystander', 'stay'] })
      await lineFrom(bystander.output, () => true)
      const bomb = attack(inside, 'memory-bomb', '1')
      await neighbourAnswers(ground)
      expect((await bomb).signal).toBe('SIGKILL')
      await inside.ping()
      await runsCommands(inside)
    })
  },

  'a memory bomb of many processes': async (ground) => {
    needing(ground, 'memory')
    await ground.fresh({ limits: { memoryBytes: 64 * MEBIBYTE } }, async (sandbox) => {
      const bomb = await sandbox.inside.exec({ argv: [ATTACK, 'memory-bomb', '8'] })
      await neighbourAnswers(ground)
      await bomb.exit.catch(() => undefined)
      await sandbox.inside.processes.kill({ id: bomb.id }).catch(() => undefined)
      await answersOrIsReportedDead(ground, sandbox)
    })
  },

  'a disk filled wherever it can be written': async (ground) => {
    needing(ground, 'memory')
    await ground.fresh({ limits: { memoryBytes: 256 * MEBIBYTE, tmpBytes: 16 * MEBIBYTE } }, async ({ inside }) => {
      const said = await holds(inside, 'fill-disk', String(512 * MEBIBYTE), 'remove')
      const filled = new Map([...said.matchAll(/^filled (\S+) with (\d+) bytes/gm)].map(([, place = '', bytes]) => [place, Number(bytes)]))
      expect([...filled.keys()]).toEqual(expect.arrayContaining(['/tmp', '/home/user', '/workspace']))
      for (const [place, bytes] of filled) expect(bytes, place).toBeLessThanOrEqual(16 * MEBIBYTE)
      await neighbourAnswers(ground)
    })
  },

  'every writable place filled at once, beyond the memory limit': async (ground) => {
    needing(ground, 'memory')
    await ground.fresh({ limits: { memoryBytes: 48 * MEBIBYTE, tmpBytes: 32 * MEBIBYTE } }, async (sandbox) => {
      const filler = await sandbox.inside.exec({ argv: [ATTACK, 'fill-disk', String(512 * MEBIBYTE), 'keep'] })
      await neighbourAnswers(ground)
      await filler.exit.catch(() => undefined)
      await answersOrIsReportedDead(ground, sandbox)
    })
  },

  'space that is taken without being written, where somebody watches what is': (ground) => {
    const source = ground.laboratory.hostDirectory('reserved')
    return ground.fresh({ refusesReserving: true, mounts: [{ source, target: '/workspace', mode: 'rw' }] }, async ({ inside }) => {
      await holds(inside, 'reserve-space', '/workspace')
    })
  },

  'a gigabyte of output that nobody reads': (ground) =>
    ground.fresh({}, async ({ inside }) => {
      const growth = await memoryGrowthDuring(async () => {
        const unread = await flood(inside, 1024 * MEBIBYTE, 'unread')
        await neighbourAnswers(ground)
        await runsCommands(inside)
        expect((await inside.stats()).memoryBytes).toBeLessThan(32 * MEBIBYTE)
        expect(await unread.kill()).toMatchObject({ verified: true })
      })
      expect(growth).toBeLessThan(64 * MEBIBYTE)
    }),

  'a gigabyte of output after its reader has left': (ground) =>
    ground.fresh({}, async ({ inside }) => {
      const growth = await memoryGrowthDuring(async () => {
        const left = await flood(inside, 1024 * MEBIBYTE, 'left')
        left.detach()
        await neighbourAnswers(ground)
        await expect.poll(async () => (await inside.processes.list()).map(({ state }) => state)).toEqual(['ended'])
        const again = await inside.processes.attach({ tag: 'left' })
        let keptBytes = 0
        await again.drain(({ bytes }) => {
          keptBytes += bytes.length
        })
        expect(again.skippedBytes + keptBytes).toBe(1024 * MEBIBYTE)
        expect(keptBytes).toBeGreaterThan(0)
      })
      expect(growth).toBeLessThan(64 * MEBIBYTE)
    }),
}
