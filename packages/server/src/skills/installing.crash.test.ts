/** A server that is killed while it installs or removes skills: what is there is whole, and the rest is swept. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, watch } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openSkillsLaboratory } from './contract/skills-laboratory.ts'
import { sweepSkills } from './skill-store.ts'

const ROUNDS = 12

let laboratory: ReturnType<typeof openSkillsLaboratory>
beforeEach(() => {
  laboratory = openSkillsLaboratory()
})
afterEach(() => laboratory.close())

/** At the moment when something appears or goes among the packages or among what is being made, the so many-th time. */
async function killedAtChange(count: number): Promise<void> {
  const program = fileURLToPath(new URL('contract/install-forever.ts', import.meta.url))
  const making = join(laboratory.root, '.making')
  mkdirSync(making, { recursive: true })
  const child = spawn(process.execPath, [program, laboratory.root], { stdio: ['ignore', 'ignore', 'inherit'] })
  let seen = 0
  const watchers = [laboratory.root, making].map((directory) =>
    watch(directory, () => {
      seen += 1
      if (seen === count) child.kill('SIGKILL')
    }),
  )
  try {
    expect(await once(child, 'exit')).toEqual([null, 'SIGKILL'])
  } finally {
    for (const watcher of watchers) watcher.close()
  }
}

test('nothing but whole packages and what is swept is left, wherever it was', async () => {
  const { root, store } = laboratory
  let cut = 0
  for (let round = 1; round <= ROUNDS; round += 1) {
    await killedAtChange(round)
    if (readdirSync(join(root, '.making')).length > 0) cut += 1
    expect(readdirSync(root).filter((name) => name !== '.making' && name !== 'whole-upload')).toEqual([])
    await sweepSkills(root)
    const listed = await store.list()
    for (const { packageRoot } of listed) expect(readdirSync(join(packageRoot, 'data')).length).toBe(99)
    expect(readdirSync(root).filter((name) => name !== '.making').length).toBe(listed.length)
    if (listed.length > 0) await store.remove('whole')
  }
  // Otherwise nothing was shown.
  expect(cut).toBeGreaterThan(0)
})
