/** Verifying the audit: the event loop keeps turning, and callers who ask at the same time share one walk. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { migrate } from '../../store/migrate.ts'
import { openSqliteStore } from '../../store/sqlite/sqlite-store.ts'
import type { SqlValue, Store } from '../../store/store.ts'
import type { ChainPlace } from './audit-record.ts'
import { createAuditVerifier } from './audit-verifier.ts'
import { writeAudit } from './contract/written-audit.ts'
import { verifyAudit } from './verify.ts'

const PAGE = 5

/** On a file, because reads of a file wait for nothing: only a pause lets the event loop turn. */
async function withFileStore(work: (store: Store) => Promise<void>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-audit-'))
  const store = await openSqliteStore(join(directory, 'audit.db'))
  try {
    await migrate(store)
    await work(store)
  } finally {
    await store.close()
    rmSync(directory, { recursive: true })
  }
}

/** Reports every statement that reads rows. */
function withStatements(store: Store, onStatement: (text: string, values: readonly SqlValue[]) => void): Store {
  return {
    ...store,
    read: (work) =>
      store.read((sql) =>
        work({
          ...sql,
          all(text, ...values) {
            onStatement(text, values)
            return sql.all(text, ...values)
          },
        }),
      ),
  }
}

async function loopTurnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0
  let isOver = false
  const turn = () => {
    turns += 1
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  await work()
  isOver = true
  return turns
}

/** 40 sessions of two tenants; the first has 61 records. */
async function writeLongAudit(store: Store): Promise<string> {
  const quiet = Array.from({ length: 39 }, () => ({ changes: 0, end: 'open' }) as const)
  const [long] = await writeAudit(store, { sessions: [{ changes: 60, end: 'open' }, ...quiet] })
  return long?.id ?? ''
}

test('the event loop turns after every page of records and every page of sessions', async () => {
  await withFileStore(async (store) => {
    await writeLongAudit(store)
    let records = 0
    const turns = await loopTurnsDuring(async () => {
      records = (await verifyAudit({ store, pageSize: PAGE, report: () => {} })).records
    })
    expect(records).toBeGreaterThan(120)
    // Records in pages, then 40 sessions and 3 tenants in pages.
    expect(turns).toBeGreaterThanOrEqual(Math.floor(records / PAGE) + 40 / PAGE)
  })
})

test('records that were changed are searched for in steps too', async () => {
  await withFileStore(async (store) => {
    const chain = await writeLongAudit(store)
    await store.write((transaction) => transaction.run(`UPDATE audit SET body = '{}' WHERE chain = ?`, chain))
    let [steps, sinceTurn, mostWithoutTurn] = [0, 0, 0]
    const counted = withStatements(store, (text) => {
      if (!text.startsWith('SELECT seq, hash')) return
      steps += 1
      sinceTurn += 1
      mostWithoutTurn = Math.max(mostWithoutTurn, sinceTurn)
      setImmediate(() => (sinceTurn = 0))
    })
    await verifyAudit({ store: counted, pageSize: 1_000, searchStep: 20, report: () => {} })
    // 61 searches, most of them over several steps.
    expect(steps).toBeGreaterThan(120)
    expect(mostWithoutTurn).toBeLessThanOrEqual(3)
  })
})

test('callers who ask during a walk share the next one, and each gets the check of its own heads', async () => {
  await withFileStore(async (store) => {
    const chain = await writeLongAudit(store)
    let walks = 0
    const begun = Promise.withResolvers<void>()
    const counted = withStatements(store, (text, values) => {
      if (!text.includes('(chain, seq) >') || values[1] !== 0) return
      walks += 1
      begun.resolve()
    })
    const verifier = createAuditVerifier({ store: counted })
    const verify = (heads: readonly ChainPlace[]) => verifier.verify(heads, new AbortController().signal)
    const first = verify([])
    await begun.promise
    const verdicts = await Promise.all([first, verify([{ chain, seq: 2, hash: 'f'.repeat(64) }]), verify([]), verify([])])
    expect(verdicts.map(({ problems }) => problems)).toEqual([0, 1, 0, 0])
    expect(verdicts.map(({ items }) => items.length)).toEqual([0, 1, 0, 0])
    expect(walks).toBe(2)
  })
})

test('a walk ends when everybody who waits for it has left, and not before', async () => {
  await withFileStore(async (store) => {
    await writeLongAudit(store)
    const verifier = createAuditVerifier({ store })
    const [leaves, stays] = [new AbortController(), new AbortController()]
    const left = verifier.verify([], leaves.signal)
    const stayed = verifier.verify([], stays.signal)
    leaves.abort()
    await expect(left).rejects.toThrow()
    expect((await stayed).problems).toBe(0)
    const gone = new AbortController()
    const alone = verifier.verify([], gone.signal)
    gone.abort()
    await expect(alone).rejects.toThrow()
    expect((await verifier.verify([], stays.signal)).problems).toBe(0)
  })
})
