/**
 * Lifecycle, removal: destroying is complete, can be repeated, and repairs what was only half made.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { askEngine, imageAfter, volumesOf } from '../engine-facts.ts'
import type { Laboratory } from '../laboratory.ts'
import { outcomeOf, shell } from '../outcome.ts'
import { seededRandom } from '../seeded-random.ts'
import type { Proofs } from '../subject.ts'

export const REMOVAL: Proofs<Laboratory> = {
  'destroying leaves nothing: no container, process, mount, cgroup, socket or directory': async (laboratory) => {
    const workspace = laboratory.hostDirectory('workspace')
    const { inside, name } = await laboratory.create({ mounts: [{ source: workspace, target: '/workspace', mode: 'rw' }] })
    await inside.exec({ argv: ['/bin/sh', '-c', 'setsid sleep 1000 & sleep 1000'] })
    expect(await laboratory.traces()).not.toEqual([])
    await laboratory.backend.destroy(name)
    expect(await laboratory.traces()).toEqual([])
    expect(existsSync(workspace)).toBe(true)
  },

  'destroying ends open connections and running executions': async (laboratory) => {
    const { inside, name } = await laboratory.create()
    const running = await inside.exec({ argv: ['sleep', '1000'] })
    const lost = running.exit.catch((error: unknown) => error)
    await laboratory.backend.destroy(name)
    expect(await inside.closed).toBeInstanceOf(Error)
    expect(await lost).toMatchObject({ code: 'guest_unreachable' })
    expect(await outcomeOf(() => inside.ping())).toBe('guest_unreachable')
    expect(await outcomeOf(() => laboratory.backend.attach(name))).toBe('sandbox_gone')
  },

  'destroying twice, also at the same time, is fine': async (laboratory) => {
    const { name } = await laboratory.create()
    await Promise.all([laboratory.backend.destroy(name), laboratory.backend.destroy(name), laboratory.reopen().destroy(name)])
    await laboratory.backend.destroy(name)
    expect(await laboratory.backend.list()).toEqual([])
  },

  'destroying what never was is fine': async (laboratory) => {
    await laboratory.backend.destroy(laboratory.newName())
  },

  'a name that points elsewhere destroys nothing': async (laboratory) => {
    const { inside, name } = await laboratory.create()
    const bystander = laboratory.hostDirectory('state/bystander')
    writeFileSync(join(bystander, 'file'), 'kept')
    for (const odd of ['../bystander', '..', '.', '', `${name}/..`, `../sandboxes/${name}`]) {
      await outcomeOf(() => laboratory.backend.destroy(odd))
    }
    expect(readdirSync(bystander)).toEqual(['file'])
    await inside.ping()
    expect(await laboratory.backend.list()).toEqual([{ name, running: true }])
  },

  'a sandbox destroyed and made again under its name is a new one': async (laboratory) => {
    const { inside, name } = await laboratory.create()
    await shell(inside, 'echo old > /tmp/mark')
    await laboratory.backend.destroy(name)
    const again = await laboratory.create({}, name)
    expect(again.inside.bootId).not.toBe(inside.bootId)
    expect(await shell(again.inside, 'ls /tmp')).toBe('')
  },

  'a creation aborted at any moment leaves nothing behind': async (laboratory) => {
    const begun = performance.now()
    const { name: first } = await laboratory.create()
    const typicalMs = performance.now() - begun
    await laboratory.backend.destroy(first)
    const random = seededRandom('aborts')
    for (let round = 0; round < 12; round++) {
      const name = laboratory.newName()
      const delayMs = Math.round(random() * typicalMs)
      const aborted = AbortSignal.timeout(delayMs)
      const ended = await laboratory.backend.create(name, laboratory.spec(), aborted).then(
        () => 'created',
        () => 'failed',
      )
      if (ended === 'created') await laboratory.backend.destroy(name)
      expect(await laboratory.traces(), `aborted after ${delayMs} ms (${ended})`).toEqual([])
      expect(await laboratory.backend.list()).toEqual([])
    }
  },

  'an aborted signal creates nothing at all': async (laboratory) => {
    const attempt = laboratory.backend.create(laboratory.newName(), laboratory.spec(), AbortSignal.abort())
    await expect(attempt).rejects.toBeInstanceOf(Error)
    expect(await laboratory.traces()).toEqual([])
  },

  'destroying while it is being created leaves nothing behind': async (laboratory) => {
    const name = laboratory.newName()
    const creation = laboratory.backend.create(name, laboratory.spec()).catch((error: unknown) => error)
    await laboratory.backend.destroy(name)
    await creation
    await laboratory.backend.destroy(name)
    expect(await laboratory.traces()).toEqual([])
    expect(await laboratory.backend.list()).toEqual([])
  },

  'an image that declares a volume leaves no volume behind': async (laboratory) => {
    const { engineSocket, image } = laboratory.subject
    if (engineSocket === null || image === null) throw new Error('this proof needs an engine')
    const before = await volumesOf(engineSocket)
    const withVolume = await imageAfter(engineSocket, image, 'true', 'VOLUME /scratch')
    try {
      const { inside, name } = await laboratory.create({ image: withVolume })
      await inside.ping()
      await laboratory.backend.destroy(name)
      const after = await volumesOf(engineSocket)
      expect(after.filter((volume) => !before.includes(volume))).toEqual([])
    } finally {
      await askEngine(engineSocket, 'DELETE', `/images/${withVolume}?force=1`)
    }
  },
}
