/**
 * A link to an app inside, for somebody who may use the session.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * Whether anything listens there is not asked: an app may be started after its link was given.
 */
import type { PreviewView } from '@holdfast/protocol'
import type { PreviewLinks } from '../../access/preview-links.ts'
import { checkLive } from '../../sessions/lifecycle/refusals.ts'
import type { SessionReads } from '../../sessions/session-reads.ts'
import { moment } from '../rest/moment.ts'
import type { Entered, Visit } from '../rest/route.ts'
import type { PreviewAddresses } from './preview-address.ts'

export type MakePreview = (
  visit: Entered & Pick<Visit, 'requestId'>,
  sessionId: string,
  wish: { readonly port: number; readonly ttlSeconds: number },
) => Promise<PreviewView>

export interface MakePreviewNeeds {
  readonly reads: Pick<SessionReads, 'open'>
  readonly links: Pick<PreviewLinks, 'make'>
  readonly addresses: Pick<PreviewAddresses, 'linkOf'>
}

export function previewMaker({ reads, links, addresses }: MakePreviewNeeds): MakePreview {
  return async ({ principal, caller, requestId }, sessionId, { port, ttlSeconds }) => {
    const session = await reads.open(caller, 'exec', sessionId)
    checkLive(session)
    const { label, expiresAt } = await links.make(principal, { session, port, ttlMs: ttlSeconds * 1000, requestId })
    return { url: addresses.linkOf(label), port, expires_at: moment(expiresAt) }
  }
}
