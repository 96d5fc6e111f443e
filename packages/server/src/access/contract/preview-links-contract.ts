/**
 * What links to web apps inside promise on every store, as runnable proofs.
 *
 * ingress → [access] → policy → sessions → sandboxes → guest → result
 */
import { describe, expect, test } from 'vitest'
import { sampleSession } from '../../sessions/contract/sample-session.ts'
import { deleteClosedSession, insertSession } from '../../store/tables/sessions.ts'
import { createPreviewLinks } from '../preview-links.ts'
import { ADMIN_KEY_ID, OIDC_KEY_ID } from '../principal.ts'
import type { Principal } from '../principal.ts'
import type { Laboratory } from './laboratory.ts'

const HOUR_MS = 3_600_000
const LETS = { keys: true, tokens: true }

export function previewLinksContract(name: string, open: () => Promise<Laboratory>): void {
  async function openLinks() {
    const laboratory = await open()
    const { store, keys, needs, tenant } = laboratory
    const { clock } = needs
    const admin = { ...laboratory.admin, keyId: ADMIN_KEY_ID }
    const session = sampleSession({ tenantId: tenant.id, state: 'released', closedAt: 1000 })
    await store.write((transaction) => insertSession(transaction, session))
    const linksOf = (lets = LETS, seed = 1) => createPreviewLinks({ store, keys, key: new Uint8Array(32).fill(seed), clock, lets })
    const links = linksOf()
    const make = (principal: Principal, ttlMs = HOUR_MS) => links.make(principal, { session, port: 3000, ttlMs, requestId: 'req_1' })
    return { ...laboratory, ...{ admin, clock, session, links, linksOf }, makeKey: laboratory.make, make }
  }

  describe(`links to apps inside on ${name}`, () => {
    test('a link leads to its port of its session, in the name of who asked for it', async () => {
      const { links, make, session, admin, clock } = await openLinks()
      const asker = { ...admin, subject: 'zoë', role: 'member' as const, groups: ['a', 'b'], onBehalfOf: 'zoë' }
      const { label, expiresAt } = await make(asker)
      expect(expiresAt).toBe(clock() + HOUR_MS)
      expect(await links.open(label)).toEqual({
        id: expect.stringMatching(/^lnk_/),
        principal: asker,
        sessionId: session.id,
        port: 3000,
        expiresAt,
      })
    })

    test('it works until its time is over, and is dropped with a later one', async () => {
      const { links, make, admin, time, store } = await openLinks()
      const { label } = await make(admin)
      time.now += HOUR_MS - 1
      expect(await links.open(label)).not.toBeNull()
      time.now += 1
      expect(await links.open(label)).toBeNull()
      await make(admin)
      const rows = await store.read((sql) => sql.all('SELECT id FROM preview_links WHERE expires_at <= ?', time.now))
      expect(rows).toEqual([])
    })

    test('it ends with the key that asked for it', async () => {
      const { links, make, makeKey, admin, keys } = await openLinks()
      const { record } = await makeKey({ subject: 'ada', kind: 'service' })
      const { label } = await make({ ...admin, role: 'member', subject: 'ben', onBehalfOf: 'ben', keyId: record.id })
      expect(await links.open(label)).not.toBeNull()
      await keys.revoke(admin, record.id)
      expect(await links.open(label)).toBeNull()
      const { label: unknown } = await make({ ...admin, keyId: 'key_0000000000000000' })
      expect(await links.open(unknown)).toBeNull()
    })

    test('it ends when its asker would not be let in that way any more', async () => {
      const { make, admin, linksOf } = await openLinks()
      const opened = async (keyId: string | null, lets: typeof LETS) => {
        const { label } = await make({ ...admin, keyId })
        return (await linksOf(lets).open(label)) !== null
      }
      expect(await opened(null, { keys: false, tokens: false })).toBe(true)
      expect(await opened(null, LETS)).toBe(false)
      expect(await opened(ADMIN_KEY_ID, LETS)).toBe(true)
      expect(await opened(ADMIN_KEY_ID, { keys: false, tokens: false })).toBe(false)
      expect(await opened(OIDC_KEY_ID, LETS)).toBe(true)
      expect(await opened(OIDC_KEY_ID, { keys: true, tokens: false })).toBe(false)
    })

    test('it is another server’s where the secret is another, and goes with its session’s record', async () => {
      const { make, admin, linksOf, links, session, store, time } = await openLinks()
      const { label } = await make(admin)
      expect(await linksOf(LETS, 2).open(label)).toBeNull()
      expect(await links.open(label)).not.toBeNull()
      await store.write((transaction) => deleteClosedSession(transaction, session))
      // Longer than it is remembered.
      time.now += 10_000
      expect(await links.open(label)).toBeNull()
    })

    test('who asked for it is on the tenant’s audit, and the link is not', async () => {
      const { make, admin, auditOf, session, tenant } = await openLinks()
      const { label } = await make(admin)
      const told = JSON.stringify(await auditOf(tenant.id))
      expect(told).toContain('preview.create')
      expect(told).toContain(session.id)
      expect(told).not.toContain(label.slice(0, 16))
    })
  })
}
