/** Rubbish with somebody in it who puts links in the way, as fast as a program can. */
import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openSkillsLaboratory } from './contract/skills-laboratory.ts'
import { emptyRubbish } from './rubbish.ts'

const ROUNDS = 150

let laboratory: ReturnType<typeof openSkillsLaboratory>
beforeEach(() => {
  laboratory = openSkillsLaboratory()
})
afterEach(() => laboratory.close())

test('nothing outside is touched, and everything inside goes', async () => {
  const { ground } = laboratory
  const canary = join(ground, 'canary')
  mkdirSync(join(canary, 'inner'), { recursive: true })
  for (const path of ['file', 'inner/file']) writeFileSync(join(canary, path), 'kept')
  const bins = Array.from({ length: ROUNDS }, (_, round) => join(ground, `bin-${round}`))
  const program = fileURLToPath(new URL('contract/swapper.ts', import.meta.url))
  const swapper = spawn(process.execPath, [program, canary, ...bins.map((bin) => join(bin, 'old'))], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const begun = createInterface(swapper.stdout)[Symbol.asyncIterator]()
    for (const bin of bins) {
      mkdirSync(bin)
      mkdirSync(join(bin, 'old'))
      await begun.next()
      while (readdirSync(bin).length > 0) await emptyRubbish(bin)
      expect(readFileSync(join(canary, 'inner', 'file'), 'utf8')).toBe('kept')
      expect(readFileSync(join(canary, 'file'), 'utf8')).toBe('kept')
    }
  } finally {
    swapper.kill('SIGKILL')
  }
})
