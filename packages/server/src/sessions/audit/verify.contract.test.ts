/** The audit: whatever is done to a record, a chain, a head or an anchor, the verifier finds it. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Row, Transaction } from '../../store/store.ts'
import { hashOf } from './chain.ts'
import { plans, verify, withStore, writeAudit } from './contract/written-audit.ts'

/** Changes something; `false` when there is nothing of the kind. `pick` chooses among as many as there are. */
type Mutation = (transaction: Transaction, pick: (count: number) => number) => Promise<boolean>

const all = (transaction: Transaction) => transaction.all('SELECT rowid AS place, * FROM audit ORDER BY chain, seq')
const differently = (value: unknown) => (typeof value === 'number' ? value + 1 : `${String(value)}x`)

/** Gives one row the chain and number of another, as far as the keys allow. */
async function swap(transaction: Transaction, left: Row, right: Row, columns: readonly string[]): Promise<void> {
  await transaction.run(`UPDATE audit SET seq = -1, id = 'held' WHERE rowid = ?`, left.place ?? null)
  for (const [row, other] of [
    [right, left],
    [left, right],
  ] as const) {
    const values = columns.map((column) => other[column] ?? null)
    const text = `UPDATE audit SET seq = ?, id = ?, ${columns.map((column) => `${column} = ?`).join(', ')} WHERE rowid = ?`
    const seq = columns.includes('seq') ? other.seq : row.seq
    const id = columns.includes('id') ? other.id : row.id
    await transaction.run(text, seq ?? null, id ?? null, ...values, row.place ?? null)
  }
}

const COLUMNS = ['chain', 'seq', 'id', 'tenant_id', 'at', 'body', 'previous', 'hash']

const MUTATIONS: Readonly<Record<string, Mutation>> = {
  ...Object.fromEntries(
    COLUMNS.map((column): [string, Mutation] => [
      `change ${column}`,
      async (transaction, pick) => {
        const rows = await all(transaction)
        const row = rows[pick(rows.length)]
        // A number that is taken cannot be written at all.
        const value = column === 'seq' ? 1000 + pick(100) : differently(row?.[column])
        return (await transaction.run(`UPDATE audit SET ${column} = ? WHERE rowid = ?`, value, row?.place ?? null)) === 1
      },
    ]),
  ),
  'change a number into text': async (transaction, pick) => {
    const rows = await all(transaction)
    return (await transaction.run(`UPDATE audit SET at = 'soon' WHERE rowid = ?`, rows[pick(rows.length)]?.place ?? null)) === 1
  },
  'change a body and its hash': async (transaction, pick) => {
    const rows = await all(transaction)
    const row = rows[pick(rows.length)]
    if (row === undefined) return false
    const body = String(row.body).replace('"allow"', '"deny"')
    const forged = { ...rowOf(row), body }
    return (await transaction.run('UPDATE audit SET body = ?, hash = ? WHERE rowid = ?', body, hashOf(forged), row.place ?? null)) === 1
  },
  delete: async (transaction, pick) => {
    const rows = await all(transaction)
    return (await transaction.run('DELETE FROM audit WHERE rowid = ?', rows[pick(rows.length)]?.place ?? null)) === 1
  },
  'swap the numbers of two records': async (transaction, pick) => {
    const [left, right] = await twoOfOneChain(transaction, pick)
    if (left === undefined || right === undefined) return false
    await swap(transaction, left, right, ['seq'])
    return true
  },
  'swap two records but for their numbers and ids': async (transaction, pick) => {
    const [left, right] = await twoOfOneChain(transaction, pick)
    if (left === undefined || right === undefined || left.body === right.body) return false
    await swap(transaction, left, right, ['at', 'body', 'previous', 'hash'])
    return true
  },
  'swap two records of any chains': async (transaction, pick) => {
    const rows = await all(transaction)
    const left = rows[pick(rows.length)]
    const right = rows[pick(rows.length)]
    if (left === undefined || right === undefined || left.place === right.place) return false
    await swap(transaction, left, right, COLUMNS)
    // The same records in other rows of the file are the same audit: something must differ.
    return (await transaction.run(`UPDATE audit SET chain = ? WHERE rowid = ?`, `${String(left.chain)}x`, left.place ?? null)) === 1
  },
  'insert a well-made record at the end of a chain': async (transaction, pick) => {
    const rows = await all(transaction)
    const chain = rows[pick(rows.length)]?.chain
    const last = rows.findLast((row) => row.chain === chain)
    if (last === undefined) return false
    const row = rowOf(last)
    return await insert(transaction, { ...row, seq: row.seq + 1, id: 'aud_new', previous: row.hash })
  },
  'insert a well-made chain': (transaction) =>
    insert(transaction, { chain: 'ses_new', seq: 1, id: 'aud_new', tenantId: 'tnt_new', at: 1, body: '{}', previous: '' }),
  'insert a record into a chain that was removed': async (transaction) => {
    const purged = await transaction.get(`SELECT id, tenant_id FROM audit WHERE id LIKE 'aud_purged_%'`)
    if (purged === undefined) return false
    const chain = String(purged.id).replace('aud_purged_', '')
    const tenantId = String(purged.tenant_id)
    return await insert(transaction, { chain, seq: 1, id: 'aud_new', tenantId, at: 1, body: '{}', previous: '' })
  },
  'cut off the end of a chain': async (transaction, pick) => {
    const rows = await all(transaction)
    const row = rows[pick(rows.length)]
    return (await transaction.run('DELETE FROM audit WHERE chain = ? AND seq >= ?', row?.chain ?? null, row?.seq ?? null)) > 0
  },
  'cut off the end of a chain and move its head back': async (transaction, pick) => {
    const rows = (await all(transaction)).filter((row) => row.chain !== row.tenant_id)
    const closed = rows.filter((row) => rows.some(({ chain, body }) => chain === row.chain && String(body).includes('session.released')))
    const row = closed[pick(closed.length)]
    if (row === undefined || Number(row.seq) === 1) return false
    await transaction.run('DELETE FROM audit WHERE chain = ? AND seq >= ?', row.chain ?? null, row.seq ?? null)
    const before = Number(row.seq) - 1
    return (
      (await transaction.run(
        'UPDATE sessions SET audit_seq = ?, audit_hash = ? WHERE id = ?',
        before,
        row.previous ?? null,
        row.chain ?? null,
      )) === 1
    )
  },
  'drop a whole chain': async (transaction, pick) => {
    const rows = await all(transaction)
    return (await transaction.run('DELETE FROM audit WHERE chain = ?', rows[pick(rows.length)]?.chain ?? null)) > 0
  },
  'drop a whole chain with its session': async (transaction, pick) => {
    const rows = (await all(transaction)).filter((row) => row.chain !== row.tenant_id)
    const chain = rows[pick(rows.length)]?.chain
    if (chain === undefined) return false
    await transaction.run('DELETE FROM sessions WHERE id = ?', chain)
    return (await transaction.run('DELETE FROM audit WHERE chain = ?', chain)) > 0
  },
  'move a head': async (transaction, pick) => {
    const table = pick(2) === 0 ? 'tenants' : 'sessions'
    const column = pick(2) === 0 ? 'audit_seq = audit_seq + 1' : `audit_hash = audit_hash || 'x'`
    return (await transaction.run(`UPDATE ${table} SET ${column} WHERE id IN (SELECT chain FROM audit)`)) > 0
  },
}

function rowOf(row: Row) {
  const { chain, id, tenant_id: tenantId, body, previous, hash } = row
  const text = { chain: String(chain), id: String(id), tenantId: String(tenantId), body: String(body) }
  return { ...text, previous: String(previous), hash: String(hash), seq: Number(row.seq), at: Number(row.at) }
}

async function insert(transaction: Transaction, row: Parameters<typeof hashOf>[0]): Promise<boolean> {
  const { chain, seq, id, tenantId, at, body, previous } = row
  const text = 'INSERT INTO audit (chain, seq, id, tenant_id, at, body, previous, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)'
  return (
    (await transaction.run(
      text,
      chain,
      seq,
      id,
      tenantId,
      at,
      body,
      previous,
      hashOf({ chain, seq, id, tenantId, at, body, previous }),
    )) === 1
  )
}

async function twoOfOneChain(transaction: Transaction, pick: (count: number) => number): Promise<readonly (Row | undefined)[]> {
  const rows = await all(transaction)
  const left = rows[pick(rows.length)]
  const others = rows.filter((row) => row.chain === left?.chain && row.seq !== left?.seq)
  return [left, others[pick(others.length)]]
}

test('an untouched audit has no problem, whatever the size of a page', async () => {
  await fc.assert(
    fc.asyncProperty(plans, fc.integer({ min: 1, max: 20 }), async (plan, pageSize) => {
      expect(await withStore(async (store) => (await writeAudit(store, plan), await verify(store, pageSize)))).toEqual([])
    }),
    { numRuns: 25 },
  )
})

test.each(Object.entries(MUTATIONS))('found: %s', async (_name, mutate) => {
  let applied = 0
  await fc.assert(
    fc.asyncProperty(plans, fc.infiniteStream(fc.nat(1_000_000)), async (plan, choices) => {
      const pick = (count: number) => (count === 0 ? 0 : Number(choices.next().value) % count)
      await withStore(async (store) => {
        await writeAudit(store, plan)
        const isApplied = await store.write((transaction) => mutate(transaction, pick))
        if (!isApplied) return
        applied += 1
        expect(await verify(store)).not.toEqual([])
      })
    }),
    { numRuns: 25 },
  )
  expect(applied).toBeGreaterThan(0)
})
