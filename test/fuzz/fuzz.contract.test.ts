/** Requests of every kind, made from the document that a real server serves: the short form of `npm run test:long -- fuzz`. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, test } from 'vitest'
import { backendsUnderTest, because } from '../environment/backends.ts'
import { fuzz } from './fuzz.ts'

const REQUESTS = Number(process.env.HOLDFAST_FUZZ_REQUESTS ?? 300)
const SEED = Number(process.env.HOLDFAST_FUZZ_SEED ?? 20_260_101)

const under = (await backendsUnderTest()).find(({ kind }) => kind === 'bubblewrap')
if (under === undefined) throw new Error('bubblewrap is not among the backends under test')

describe.skipIf(under.skipReason !== null)(`the served document, with bubblewrap behind it${because(under)}`, () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'holdfast-fuzz-'))
  afterAll(() => rmSync(stateDir, { recursive: true, force: true }))

  test(`is kept for ${REQUESTS} valid, nearly valid and hostile requests, and nothing is left over (seed ${SEED})`, async () => {
    await fuzz({ under, needs: { stateDir } }, { requests: REQUESTS, seed: SEED })
  })
})
