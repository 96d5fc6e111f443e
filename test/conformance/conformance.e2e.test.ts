/** The conformance suite against the gateway, with a server in a real box, and against our own tools: both eras at both ends. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../environment/backends.ts'
import { startHoldfast } from '../mcp/holdfast-process.ts'
import type { HoldfastProcess } from '../mcp/holdfast-process.ts'
import { runSuite } from './conformance-suite.ts'
import type { SuiteRun } from './conformance-suite.ts'

const PROGRAM = readFileSync(join(import.meta.dirname, 'conforming-server.py'), 'utf8')
/** What the server in the box speaks. */
const SERVERS = { before: 'legacy', now: 'modern' } as const
const RUNS = [
  ['newest', '2025-11-25'],
  ['newest', '2026-07-28'],
  ['stable', '2025-11-25'],
] as const
/** Fewer were not run at all. */
const SCENARIOS: Readonly<Record<string, number>> = { 'newest 2025-11-25': 33, 'newest 2026-07-28': 40, 'stable 2025-11-25': 32 }
const RUN_LIMIT_MS = 300_000

for (const under of (await backendsUnderTest()).filter(({ kind }) => kind === 'bubblewrap')) {
  describe.skipIf(under.skipReason !== null)(`the conformance suite on ${under.kind}${because(under)}`, () => {
    let holdfast: HoldfastProcess
    beforeAll(async () => {
      // The suite sends no key.
      holdfast = await startHoldfast(under, { HOLDFAST_AUTH: 'none' })
      for (const [name, era] of Object.entries(SERVERS)) {
        const body = { command: 'python3', args: ['-u', '-c', PROGRAM, era], box: { network: 'off' } }
        expect((await holdfast.ask(`/v1/mcp/servers/${name}`, { method: 'PUT', body })).status).toBe(201)
      }
    })
    afterAll(() => holdfast.close())

    async function passes(suite: SuiteRun['suite'], revision: string, path: string, expected: string): Promise<void> {
      const { exitCode, scenarios, summary } = await runSuite({ suite, revision, url: `${holdfast.url}${path}`, expected })
      expect(exitCode, summary).toBe(0)
      expect(scenarios, summary).toBe(SCENARIOS[`${suite} ${revision}`])
    }

    describe.each(Object.entries(SERVERS))('a server of %s in a box (%s)', (name) => {
      test.each(RUNS)(
        'passes the %s one for clients of %s',
        (suite, revision) => passes(suite, revision, `/mcp/${name}`, `${name}-${revision}`),
        RUN_LIMIT_MS,
      )
    })

    test.each(RUNS)(
      'our own tools beside them pass the %s one for clients of %s, as far as it asks for what they are',
      (suite, revision) => passes(suite, revision, '/mcp', `our-tools-${revision}`),
      RUN_LIMIT_MS,
    )
  })
}
