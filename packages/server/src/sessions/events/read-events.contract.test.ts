/** Events on PostgreSQL, where transactions run side by side: no reader skips one that commits late. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { postgresObstacle, startPostgres } from '../../../../../test/environment/postgres.ts'
import type { PrivatePostgres } from '../../../../../test/environment/postgres.ts'
import { migrate } from '../../store/migrate.ts'
import { openPostgresStore } from '../../store/postgres/postgres-store.ts'
import type { Store, Transaction } from '../../store/store.ts'
import { verifyAudit } from '../audit/verify.ts'
import { openLedger } from './contract/ledger.ts'
import type { Ledger, LedgerSession } from './contract/ledger.ts'
import { createEventReader } from './read-events.ts'
import type { EventReader } from './read-events.ts'

const obstacle = postgresObstacle()

describe.skipIf(obstacle !== null)(`events on PostgreSQL${obstacle === null ? '' : ` (cannot: ${obstacle})`}`, () => {
  let postgres: PrivatePostgres
  /** Two servers on one database. */
  let here: Store
  let there: Store
  let ledger: Ledger
  let ledgerThere: Ledger
  let reader: EventReader
  let tenantId: string
  const all = () => ({ tenantId, owner: null, groups: [] })

  beforeAll(async () => {
    postgres = await startPostgres()
    const { host, port, user, database } = postgres
    here = await openPostgresStore({ host, port, user, database })
    there = await openPostgresStore({ host, port, user, database })
    await migrate(here)
  })
  afterAll(async () => {
    await here.close()
    await there.close()
    await postgres.stop()
  })
  beforeEach(async () => {
    ledger = openLedger(here)
    ledgerThere = openLedger(there)
    reader = createEventReader({ store: here, listeners: ledger.listeners, pollMs: 20 })
    tenantId = await ledger.tenant()
  })

  const read = async () => (await reader.readTenant(all(), 'oldest', 100)).map(({ session_id: id, seq }) => `${id} ${seq}`)
  const takesNumber = (transaction: Transaction) => transaction.all('SELECT pg_current_xact_id()')

  /** A change whose transaction stays open until it is told to go on. */
  function held(session: LedgerSession) {
    const { promise: written, resolve: isWritten } = Promise.withResolvers<void>()
    const { promise: mayCommit, resolve: commit } = Promise.withResolvers<void>()
    const last = async () => {
      isWritten()
      await mayCommit
    }
    const done = ledgerThere.happen(session, { last })
    return { written, commit, done }
  }

  test('an event that was written first and commits last is not passed by', async () => {
    const slow = await ledger.session(tenantId)
    const quick = await ledger.session(tenantId)
    const before = [`${slow.id} 1`, `${quick.id} 1`]
    const change = held(slow)
    await change.written
    await ledger.happen(quick)
    const meanwhile = await read()
    change.commit()
    await change.done
    expect(meanwhile).toEqual(before)
    expect(await read()).toEqual([...before, `${slow.id} 2`, `${quick.id} 2`])
  })

  test('also when the one that commits first has the lower transaction number and the higher position', async () => {
    const slow = await ledger.session(tenantId)
    const quick = await ledger.session(tenantId)
    const cursor = (await reader.readTenant(all(), 'oldest', 100)).at(-1)?.id ?? ''
    const seen = async () => (await reader.readTenant(all(), { after: cursor }, 100)).map(({ session_id: id }) => id)
    let change: ReturnType<typeof held> | undefined
    const first = async (transaction: Transaction) => {
      await takesNumber(transaction)
      change = held(slow)
      await change.written
    }
    await ledger.happen(quick, { first })
    const firstPage = await seen()
    const last = (await reader.readTenant(all(), { after: cursor }, 100)).at(-1)?.id ?? cursor
    change?.commit()
    await change?.done
    const secondPage = (await reader.readTenant(all(), { after: last }, 100)).map(({ session_id: id }) => id)
    expect([...firstPage, ...secondPage].toSorted()).toEqual([quick.id, slow.id].toSorted())
  })

  test("a session's events stay in order when the later one has the lower transaction number", async () => {
    const session = await ledger.session(tenantId)
    await ledger.happen(session, {
      // Numbered first; another change of the same session comes in between.
      first: async (transaction) => {
        await takesNumber(transaction)
        await ledgerThere.happen(session)
      },
    })
    expect(await read()).toEqual([1, 2, 3].map((seq) => `${session.id} ${seq}`))
  })

  test('a follower misses nothing and repeats nothing while two servers write at once', async () => {
    const sessions = await Promise.all(Array.from({ length: 6 }, () => ledger.session(tenantId)))
    const each = 40
    const start = (await reader.readTenant(all(), 'oldest', 100)).at(-1)?.id ?? ''
    const ending = new AbortController()
    const seen = new Map<string, number[]>(sessions.map(({ id }) => [id, []]))
    let count = 0
    const following = (async () => {
      for await (const event of reader.followTenant(all(), { after: start }, ending.signal)) {
        seen.get(event.session_id)?.push(event.seq)
        count += 1
        if (count === sessions.length * each) ending.abort()
      }
    })()
    const writers = [ledger, ledgerThere].flatMap((writer, server) =>
      sessions.map(async (session, index) => {
        for (let n = 0; n < each / 2; n++) await writer.happen(session, (n + server + index) % 2 === 0 ? { first: takesNumber } : {})
      }),
    )
    await Promise.all(writers)
    await following
    const expected = Array.from({ length: each }, (_, index) => index + 2)
    for (const seqs of seen.values()) expect(seqs).toEqual(expected)
  })

  test('a follower is given the events of another server', async () => {
    const session = await ledger.session(tenantId)
    const ending = new AbortController()
    const seqs: number[] = []
    for await (const { seq } of reader.followSession(all(), session.id, 0, ending.signal)) {
      seqs.push(seq)
      if (seq < 4) await ledgerThere.happen(session)
      else ending.abort()
    }
    expect(seqs).toEqual([1, 2, 3, 4])
  })

  test('the audit of two servers that wrote at once is whole', async () => {
    const problems: unknown[] = []
    const sessions = await Promise.all(Array.from({ length: 4 }, (_, n) => (n % 2 === 0 ? ledger : ledgerThere).session(tenantId)))
    await Promise.all(sessions.flatMap((session) => [ledger.happen(session), ledgerThere.happen(session)]))
    await Promise.all(sessions.map((session, n) => (n % 2 === 0 ? ledgerThere : ledger).close(session)))
    const summary = await verifyAudit({ store: here, report: (problem) => problems.push(problem), pageSize: 7 })
    expect(problems).toEqual([])
    expect(summary.records).toBeGreaterThanOrEqual(sessions.length * 6)
  })
})
