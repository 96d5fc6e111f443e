/** One round of each fault that is over quickly: the short form of `npm run test:long -- store-faults`. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { bubblewrapUnderTest } from '../../../packages/server/src/ingress/rest/contract/real-server.ts'
import { because } from '../../environment/backends.ts'
import { noPostgres } from '../../servers/database.ts'
import { complaintsOf, runCampaign } from './campaign.ts'
import { openFaultyPostgres } from './faulty-postgres.ts'
import { openFullSqlite, openLockedSqlite } from './faulty-sqlite.ts'
import type { FaultySubject } from './faulty-subject.ts'

const under = await bubblewrapUnderTest()
/** Just longer than the server waits for a lock. */
const LOCKED_MS = 5_500
const FULL_MS = 1_500

describe.skipIf(under.skipReason !== null)(`a database that fails under callers${because(under)}`, () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'holdfast-faults-'))
  afterAll(() => rmSync(stateDir, { recursive: true, force: true }))

  async function complaintsAbout(subject: FaultySubject, faults = Object.keys(subject.faults)) {
    const said: string[] = []
    const chosen = Object.fromEntries(Object.entries(subject.faults).filter(([name]) => faults.includes(name)))
    try {
      const options = { under, stateDir, rounds: 1, say: (line: string) => void said.push(line) }
      const complaints = complaintsOf(await runCampaign({ ...subject, faults: chosen }, options))
      return { complaints, said: said.join('\n') }
    } finally {
      await subject.close()
    }
  }

  test.skipIf(noPostgres !== null)(
    `leaves no record that says running: PostgreSQL restarted, killed and its connections terminated${noPostgres === null ? '' : ` (skipped: ${noPostgres})`}`,
    async () => {
      const { complaints, said } = await complaintsAbout(await openFaultyPostgres(), ['restarted', 'killed -9', 'terminated'])
      expect(complaints, said).toEqual([])
    },
  )

  test('leaves no record that says running: SQLite locked by another process', async () => {
    const { complaints, said } = await complaintsAbout(openLockedSqlite(LOCKED_MS))
    expect(complaints, said).toEqual([])
  })

  test('leaves no record that says running: the disk of SQLite full', async (context) => {
    const subject = openFullSqlite(FULL_MS)
    if (subject === null) return context.skip('no file system may be mounted here')
    const { complaints, said } = await complaintsAbout(subject)
    expect(complaints, said).toEqual([])
  })
})
