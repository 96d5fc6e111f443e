/** Working sessions and rude clients together, for a moment: the short form of `npm run test:long -- load`. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../environment/backends.ts'
import { load } from './load.ts'
import { RUDE_CLIENTS } from './rude-clients.ts'

const under = (await backendsUnderTest()).find(({ kind }) => kind === 'bubblewrap')
if (under === undefined) throw new Error('bubblewrap is not among the backends under test')

describe.skipIf(under.skipReason !== null)(`a server with bubblewrap under load${because(under)}`, () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'holdfast-load-'))
  afterAll(() => rmSync(stateDir, { recursive: true, force: true }))

  test('answers those who work, and keeps nothing of those who are rude', async () => {
    const said: string[] = []
    const options = { minutes: 0.25, sessions: 4, isJson: false }
    const { complaints, deeds, misdeeds } = await load({ under, needs: { stateDir } }, options, (line) => said.push(line))
    expect(complaints, said.join('\n')).toEqual([])
    expect(deeds.command.count).toBeGreaterThan(0)
    expect(Object.keys(misdeeds).toSorted()).toEqual(RUDE_CLIENTS.map(({ name }) => name).toSorted())
  })
})
