/**
 * Links to web apps inside sandboxes, for browsers, which can send no key: whoever has one does what its asker may.
 *
 * ingress → [access] → policy → sessions → sandboxes → guest → result
 *
 * A link is good until its time is over, and only as long as the key that asked for it is. What its holder may do to the session is
 * decided as for every request of the asker.
 */
import { randomId } from '../home/random-id.ts'
import { appendTenantAudit } from '../sessions/audit/tenant-audit.ts'
import type { Store } from '../store/store.ts'
import { deleteExpiredPreviewLinks, findPreviewLink, insertPreviewLink } from '../store/tables/preview-links.ts'
import type { PreviewLink } from '../store/tables/preview-links.ts'
import { previewLabels } from './preview-label.ts'
import { recordOf } from './principal.ts'
import type { Principal } from './principal.ts'
import { shortMemory } from './short-memory.ts'
import { stillAdmitted } from './still-admitted.ts'
import type { AdmissionNeeds } from './still-admitted.ts'

const MEMORY_MS = 5_000
const MEMORY_LIMIT = 1_000
/** Of those whose time is over, with every new one. */
const DROPPED_AT_ONCE = 100

export interface LinkWish {
  readonly session: { readonly id: string; readonly owner: string }
  readonly port: number
  readonly ttlMs: number
  readonly requestId: string
}

/** What a link says, once it is believed. */
export interface OpenedLink {
  readonly id: string
  readonly principal: Principal
  readonly sessionId: string
  readonly port: number
  readonly expiresAt: number
}

export interface PreviewLinks {
  make(principal: Principal, wish: LinkWish): Promise<{ readonly label: string; readonly expiresAt: number }>
  /** `null` for a label that nobody made, whose time is over, or whose asker is not let in any more. */
  open(label: string): Promise<OpenedLink | null>
}

export interface PreviewLinksNeeds extends AdmissionNeeds {
  readonly store: Store
  /** Signs labels; servers on one database have the same. */
  readonly key: Uint8Array
  readonly clock: () => number
}

export function createPreviewLinks({ store, keys, key, clock, lets }: PreviewLinksNeeds): PreviewLinks {
  const labels = previewLabels(key)
  const memory = shortMemory<PreviewLink>({ clock, lifeMs: MEMORY_MS, limit: MEMORY_LIMIT })

  const isLetIn = stillAdmitted({ keys, lets })

  return {
    async make(principal, { session, port, ttlMs, requestId }) {
      const now = clock()
      const { tenantId, subject, groups, role, kind, keyId, onBehalfOf } = principal
      const asker = { tenantId, subject, groups: [...groups], role, kind, keyId, onBehalfOf }
      const link: PreviewLink = { id: randomId('lnk'), sessionId: session.id, port, asker, expiresAt: now + ttlMs }
      const resource = { type: 'session', id: session.id, owner: session.owner }
      const record = { ...recordOf(principal, { action: 'preview.create', resource }), sessionId: session.id, requestId }
      await store.write(async (transaction) => {
        await deleteExpiredPreviewLinks(transaction, now, DROPPED_AT_ONCE)
        await insertPreviewLink(transaction, link)
        await appendTenantAudit(transaction, tenantId, record, now)
      })
      return { label: labels.of(link.id), expiresAt: link.expiresAt }
    },

    async open(label) {
      const id = labels.read(label)
      if (id === null) return null
      const link = await memory.recall(id, () => store.read((sql) => findPreviewLink(sql, id)))
      if (link === null || link.expiresAt <= clock() || !(await isLetIn(link.asker.keyId))) return null
      return { id, principal: link.asker, sessionId: link.sessionId, port: link.port, expiresAt: link.expiresAt }
    },
  }
}
