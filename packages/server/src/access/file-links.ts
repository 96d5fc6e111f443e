/**
 * Links to single files inside sandboxes, for browsers and chat windows, which can send no key.
 *
 * A link is a sealed token for one path of one session: it names who asked for it and until when it is good. Its holder reads what the
 * asker may read at that moment, and it ends with the asker's key. Nothing is stored.
 */
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import { z } from 'zod'
import type { Sealing } from '../home/sealing.ts'
import { appendTenantAudit } from '../sessions/audit/tenant-audit.ts'
import type { Store } from '../store/store.ts'
import { LinkAsker } from '../store/tables/preview-links.ts'
import { recordOf } from './principal.ts'
import type { Principal } from './principal.ts'
import { stillAdmitted } from './still-admitted.ts'
import type { AdmissionNeeds } from './still-admitted.ts'

export interface FileLinkRequest {
  readonly session: { readonly id: string; readonly owner: string }
  readonly path: string
  readonly ttlMs: number
  readonly requestId: string
}

export interface FileLinks {
  make(principal: Principal, request: FileLinkRequest): Promise<{ readonly token: string; readonly expiresAt: number }>
  /** Who reads this file with this token. Throws `unauthorized`. */
  open(token: string, sessionId: string, path: string): Promise<Principal>
}

export interface FileLinksNeeds extends AdmissionNeeds {
  readonly store: Store
  readonly sealing: Sealing
  readonly clock: () => number
}

const Token = z.object({ asker: LinkAsker, expiresAt: z.int() })

export function createFileLinks({ store, sealing, clock, ...admission }: FileLinksNeeds): FileLinks {
  const isAdmitted = stillAdmitted(admission)
  return {
    async make(principal, { session, path, ttlMs, requestId }) {
      const now = clock()
      const { tenantId, subject, groups, role, kind, keyId, onBehalfOf } = principal
      const asker: LinkAsker = { tenantId, subject, groups: [...groups], role, kind, keyId, onBehalfOf }
      const token: z.output<typeof Token> = { asker, expiresAt: now + ttlMs }
      const resource = { type: 'session', id: session.id, owner: session.owner }
      const record = { ...recordOf(principal, { action: 'file_link.create', resource }), sessionId: session.id, requestId }
      await store.write((transaction) => appendTenantAudit(transaction, tenantId, record, now))
      const sealed = sealing.seal(Buffer.from(JSON.stringify(token)), contextOf(session.id, path))
      return { token: Buffer.from(sealed).toString('base64url'), expiresAt: token.expiresAt }
    },
    async open(token, sessionId, path) {
      const opened = openToken(sealing, token, contextOf(sessionId, path))
      if (opened === null || opened.expiresAt <= clock() || !(await isAdmitted(opened.asker.keyId)))
        throw new HoldfastError('unauthorized', 'this link is not valid, or its time is over', {}, { hint: 'Ask for a new link.' })
      return opened.asker
    },
  }
}

/** A token that was made for another file does not open. */
function contextOf(sessionId: string, path: string): string {
  return `file link ${sessionId} ${path}`
}

function openToken(sealing: Sealing, token: string, context: string): z.output<typeof Token> | null {
  try {
    return Token.parse(JSON.parse(Buffer.from(sealing.open(Buffer.from(token, 'base64url'), context)).toString('utf8')))
  } catch (error) {
    if (isHoldfastError(error, 'config_invalid')) return null
    throw error
  }
}
