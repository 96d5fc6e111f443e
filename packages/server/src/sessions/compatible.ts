/**
 * Whether an open session is what a caller asks for now.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'
import type { SandboxWish } from '@holdfast/protocol'
import type { SessionRow } from '../store/tables/sessions.ts'

/** Only fields that the caller names are compared; throws `session_incompatible` naming those that differ. */
export function checkCompatible(
  asked: { readonly wish: SandboxWish; readonly pack?: string | undefined; readonly ownerGroup?: string | null | undefined },
  session: Pick<SessionRow, 'wish' | 'pack' | 'ownerGroup'>,
): void {
  const { wish } = session
  const differing = [
    ['image', asked.wish.image, wish.image],
    ['network', asked.wish.network, wish.network],
    ...limitsOf(asked.wish).map(([name, value]) => [`limits.${name}`, value, wish.limits?.[name]] as const),
    ['pack', asked.pack, session.pack],
    ['owner_group', asked.ownerGroup, session.ownerGroup],
  ].filter(([, asks, has]) => asks !== undefined && asks !== has)
  if (differing.length === 0) return
  const list = differing.map(([field, asks, has]) => `${field} (${asks ?? 'none'}, but the session has ${has ?? 'none'})`)
  throw new HoldfastError('session_incompatible', `the session exists with other values of ${list.join(', ')}`, {
    fields: differing.map(([field]) => field),
  })
}

const LIMITS = ['cpus', 'memory_bytes', 'pids', 'tmp_bytes', 'open_files'] as const

function limitsOf({ limits }: SandboxWish) {
  return LIMITS.map((name) => [name, limits?.[name]] as const)
}
