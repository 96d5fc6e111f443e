/** What the probes say about this machine is what the page about backends says. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadConfig } from '@holdfast/server'
import { backendsUnderTest, because } from '../../../test/environment/backends.ts'
import { openBackend } from '../../../test/chaos/open-backend.ts'
import { backendWords, can, NAMES, sentence } from './page.ts'

const page = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'backends.md'), 'utf8')
const words = await backendWords()
let stateDir: string
beforeAll(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'holdfast-docs-'))
})
afterAll(() => rmSync(stateDir, { recursive: true, force: true }))

for (const subject of await backendsUnderTest()) {
  describe.skipIf(subject.skipReason !== null)(`${subject.kind}${because(subject)}`, () => {
    test('can do nothing here that the page denies, and gives no reason that the page does not', async () => {
      const { guestPath, launcherPath } = loadConfig({}, {})
      const probe = await openBackend(subject, { serverId: 'docs', stateDir, guestPath, launcherPath }).probe()
      if (!probe.available) throw new Error(probe.reason)
      const { capabilities } = probe
      const best = words.find(({ kind }) => kind === subject.kind)?.best
      const surprises = NAMES.filter((name) =>
        can(capabilities, name)
          ? best === undefined || !can(best, name)
          : !page.includes(` ${sentence(capabilities.reasons[name] ?? '-')} |`),
      )
      expect(surprises.map((name) => `${name}: ${capabilities.reasons[name] ?? 'it can'}`)).toEqual([])
    })
  })
}
