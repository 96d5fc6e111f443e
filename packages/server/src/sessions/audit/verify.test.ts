/** The verifier names what it found, and takes a purge for what it is. */
import { expect, test } from 'vitest'
import type { Store, Transaction } from '../../store/store.ts'
import { insertAudit } from '../../store/tables/audit.ts'
import { openLedger } from '../events/contract/ledger.ts'
import { hashOf } from './chain.ts'
import type { AuditProblem } from './check-place.ts'
import { verify, withStore, writeAudit } from './contract/written-audit.ts'
import { verifyAudit } from './verify.ts'

async function problemsAfter(
  change: (transaction: Transaction, chain: string) => Promise<unknown>,
  end: 'open' | 'closed' = 'open',
): Promise<readonly string[]> {
  return await withStore(async (store) => {
    const [session] = await writeAudit(store, { sessions: [{ changes: 4, end }] })
    const chain = session?.id ?? ''
    await store.write((transaction) => change(transaction, chain))
    return (await verify(store)).filter((problem) => problem.chain === chain).map(({ kind, seq }) => `${kind} ${seq}`)
  })
}

test('each problem is named by its kind, chain and number', async () => {
  expect(await problemsAfter((sql, chain) => sql.run(`UPDATE audit SET body = '{}' WHERE chain = ? AND seq = 3`, chain))).toEqual([
    'changed 3',
  ])
  expect(await problemsAfter((sql, chain) => sql.run('DELETE FROM audit WHERE chain = ? AND seq = 3', chain))).toEqual(['missing 3'])
  expect(await problemsAfter((sql, chain) => sql.run('DELETE FROM audit WHERE chain = ? AND seq > 3', chain))).toEqual(['missing 4'])
  expect(await problemsAfter((sql, chain) => sql.run('DELETE FROM audit WHERE chain = ?', chain))).toEqual(['missing 1', 'missing 1'])
  const swapped = async (sql: Transaction, chain: string) => {
    for (const [from, to] of [
      [2, -1],
      [4, 2],
      [-1, 4],
    ])
      await sql.run('UPDATE audit SET seq = ? WHERE chain = ? AND seq = ?', to ?? 0, chain, from ?? 0)
  }
  expect(await problemsAfter(swapped)).toEqual(['reordered 2', 'reordered 4'])
})

test('a well-made record behind the head, and a chain whose session is gone, never belonged there', async () => {
  const behindTheHead = async (sql: Transaction, chain: string) => {
    const head = await sql.get('SELECT tenant_id, hash FROM audit WHERE chain = ? AND seq = 5', chain)
    const row = { chain, seq: 6, id: 'aud_new', tenantId: String(head?.tenant_id), at: 1, body: '{}', previous: String(head?.hash) }
    await insertAudit(sql, { ...row, hash: hashOf(row) })
  }
  expect(await problemsAfter(behindTheHead)).toEqual(['inserted 6'])
  expect(await problemsAfter((sql, chain) => sql.run('DELETE FROM sessions WHERE id = ?', chain))).toEqual(['inserted 5'])
})

test("a tenant's chain that was cut back together with its head is missed by the sessions it spoke of", async () => {
  const cutBackTo = (seq: number) => async (sql: Transaction, chain: string) => {
    const { tenant_id: tenantId = '' } = (await sql.get('SELECT tenant_id FROM audit WHERE chain = ?', chain)) ?? {}
    await sql.run('DELETE FROM audit WHERE chain = ? AND seq > ?', tenantId, seq)
    const { hash = '' } = (await sql.get('SELECT hash FROM audit WHERE chain = ? AND seq = ?', tenantId, seq)) ?? {}
    await sql.run('UPDATE tenants SET audit_seq = ?, audit_hash = ? WHERE id = ?', seq, hash, tenantId)
  }
  expect(await problemsAfter(cutBackTo(1), 'closed')).toEqual(['missing-anchor 6'])
  expect(await problemsAfter(cutBackTo(0), 'closed')).toEqual(['missing-anchor 1', 'missing-anchor 6'])
})

test('a chain that is being removed, or was, is in order; a purge that was cut off goes on', async () => {
  await withStore(async (store) => {
    const ledger = openLedger(store)
    const session = await ledger.session(await ledger.tenant())
    for (let n = 0; n < 6; n++) await ledger.happen(session)
    await ledger.close(session)
    let writes = 0
    const cutOff: Store = {
      ...store,
      write: async (work, durability) => {
        writes += 1
        if (writes === 4) throw new Error('killed')
        return await store.write(work, durability)
      },
    }
    await expect(openLedger(cutOff).purge(session)).rejects.toThrow('killed')
    const left = await store.read((sql) => sql.all('SELECT seq FROM audit WHERE chain = ?', session.id))
    expect(left.map(({ seq }) => seq)).toEqual([3, 4, 5, 6, 7, 8])
    expect(await verify(store)).toEqual([])
    await ledger.purge(session)
    expect(await store.read((sql) => sql.all('SELECT seq FROM audit WHERE chain = ?', session.id))).toEqual([])
    expect(await verify(store)).toEqual([])
  })
})

test('a head kept elsewhere finds an audit that was written anew as a whole', async () => {
  await withStore(async (store) => {
    const [session] = await writeAudit(store, { sessions: [{ changes: 1, end: 'open' }] })
    const chain = session?.id ?? ''
    const known = { chain, seq: 2, hash: 'f'.repeat(64) }
    const problems: AuditProblem[] = []
    await verifyAudit({ store, known: [known], report: (problem) => problems.push(problem) })
    expect(problems).toMatchObject([{ kind: 'changed', chain, seq: 2 }])
  })
})
