/**
 * Lifecycle, creation: a wish is honoured exactly or refused before anything exists.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Laboratory, Wish } from '../laboratory.ts'
import { openLaboratory } from '../laboratory.ts'
import { outcomeOf, run, shell } from '../outcome.ts'
import type { Proofs } from '../subject.ts'

/** Wishes that one backend or another cannot honour. */
const WISHES: Readonly<Record<string, Wish>> = {
  'network on': { network: 'on' },
  'a writable root': { rootfs: 'writable' },
  'no limits at all': { limits: { cpus: null, memoryBytes: null, pids: null } },
  'an image nobody has': { image: 'holdfast-test/there-is-no-such-image:never' },
  'no image': { image: null },
  'half a processor': { limits: { cpus: 0.5 } },
  'memory and processes bounded': { limits: { memoryBytes: 64 * 1024 * 1024, pids: 32 } },
}

async function verdicts(laboratory: Laboratory, wish: Wish): Promise<{ check: string; create: string }> {
  const name = laboratory.newName()
  const check = await outcomeOf(() => laboratory.backend.check(laboratory.spec(wish)))
  const create = await outcomeOf(() => laboratory.backend.create(name, laboratory.spec(wish)))
  await laboratory.backend.destroy(name)
  return { check, create }
}

export const CREATION: Proofs<Laboratory> = {
  'the probe says what is possible, and a reason for whatever is not': async ({ backend }) => {
    const probe = await backend.probe()
    if (!probe.available) throw new Error(probe.reason)
    const { limits, reasons, ...rest } = probe.capabilities
    const missing = Object.entries({ ...limits, ...rest }).filter(([, can]) => !can)
    expect(Object.keys(reasons)).toEqual(expect.arrayContaining(missing.map(([capability]) => capability)))
    expect(probe.version).not.toBe('')
  },

  'check and create agree, and a refusal leaves nothing behind': async (laboratory) => {
    for (const [title, wish] of Object.entries(WISHES)) {
      const { check, create } = await verdicts(laboratory, wish)
      // Only `create` may ask a registry, so a missing image can be found out later than everything else.
      const agreed = check === create || (check === 'accepted' && create === 'image_missing')
      expect(agreed, `${title}: check says ${check}, create says ${create}`).toBe(true)
      expect(await laboratory.traces(), title).toEqual([])
      expect(await laboratory.backend.list(), title).toEqual([])
    }
  },

  'an image that does not exist is refused by name': async (laboratory) => {
    const image = 'holdfast-test/there-is-no-such-image:never'
    const expected = laboratory.subject.image === null ? 'capability_unsupported' : 'image_missing'
    const attempt = laboratory.backend.create(laboratory.newName(), laboratory.spec({ image }))
    await expect(attempt).rejects.toMatchObject({ code: expected, message: expect.stringContaining(image) })
    expect(await laboratory.traces()).toEqual([])
  },

  'a mount whose source has vanished is refused and leaves nothing behind': async (laboratory) => {
    const mounts = [{ source: join(laboratory.directory, 'gone'), target: '/workspace', mode: 'rw' as const }]
    expect(await outcomeOf(() => laboratory.backend.create(laboratory.newName(), laboratory.spec({ mounts })))).not.toBe('accepted')
    expect(await laboratory.traces()).toEqual([])
    expect(await laboratory.backend.list()).toEqual([])
  },

  'a mount source swapped for a symlink after the check does not show what the link names': async (laboratory) => {
    const secret = laboratory.hostDirectory('secret')
    const source = join(laboratory.directory, 'swapped')
    symlinkSync(secret, source)
    const mounts = [{ source, target: '/workspace', mode: 'rw' as const }]
    expect(await outcomeOf(() => laboratory.backend.create(laboratory.newName(), laboratory.spec({ mounts })))).not.toBe('accepted')
    expect(await laboratory.traces()).toEqual([])
  },

  'a created sandbox runs commands': async (laboratory) => {
    const { inside, sandbox, name } = await laboratory.create()
    expect(sandbox).toMatchObject({ name, kind: laboratory.subject.kind })
    expect(await shell(inside, 'echo from inside')).toBe('from inside')
    expect(await laboratory.backend.list()).toEqual([{ name, running: true }])
  },

  'two connections reach the same guest': async (laboratory) => {
    const { inside, sandbox } = await laboratory.create()
    const second = await laboratory.enter(sandbox)
    expect(second.bootId).toBe(inside.bootId)
    inside.close()
    await inside.closed
    expect(await shell(second, 'echo still here')).toBe('still here')
  },

  'a name in use is refused and the first sandbox lives on': async (laboratory) => {
    const { inside, name } = await laboratory.create()
    expect(await outcomeOf(() => laboratory.backend.create(name, laboratory.spec()))).not.toBe('accepted')
    await inside.ping()
    expect(await laboratory.backend.list()).toEqual([{ name, running: true }])
  },

  'a name that is no sandbox name is refused': async (laboratory) => {
    for (const name of ['', 'sbx_', '../escape', 'sbx_0123456789abcde/', 'sbx_0123456789ABCDEF', 'sbx_0123456789abcdef\n']) {
      expect(await outcomeOf(() => laboratory.backend.create(name, laboratory.spec())), JSON.stringify(name)).not.toBe('accepted')
    }
    expect(await laboratory.traces()).toEqual([])
  },

  'eight are created at once, each its own': async (laboratory) => {
    const eight = await Promise.all(Array.from({ length: 8 }, () => laboratory.create()))
    const bootIds = new Set(eight.map(({ inside }) => inside.bootId))
    expect(bootIds.size).toBe(8)
    const answers = await Promise.all(eight.map(({ inside, name }) => shell(inside, `echo ${name} > /tmp/name; cat /tmp/name`)))
    expect(answers).toEqual(eight.map(({ name }) => name))
    await Promise.all(eight.map(({ name }) => laboratory.backend.destroy(name)))
    expect(await laboratory.backend.list()).toEqual([])
  },

  'a state directory beyond the length of a socket address works': async ({ subject }) => {
    const far = await openLaboratory(subject, join('a'.repeat(60), 'b'.repeat(60)))
    try {
      expect(far.needs.stateDir.length).toBeGreaterThan(107)
      const { inside } = await far.create()
      expect(await shell(inside, 'echo far away')).toBe('far away')
    } finally {
      expect(await far.close()).toEqual([])
    }
  },

  'an image without a shell, a passwd file or a /tmp works': async (laboratory) => {
    const { inside } = await laboratory.create({ image: laboratory.subject.imageWithoutShell })
    await inside.files.write('/tmp/note', 'kept')
    expect((await inside.files.stat('/tmp/note')).size).toBe(4)
    const ran = await run(inside, { argv: ['/bin/sh', '-c', 'true'] }).catch((error: unknown) => error)
    expect(ran).toMatchObject({ code: 'command_not_started' })
  },
}
