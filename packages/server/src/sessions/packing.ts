/**
 * Which sessions may share a sandbox, and who each one is in there.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Off unless a request names a profile that its tenant allows. Sessions share only what is equal in everything that isolates:
 * tenant, owner (or the group that owns both), the complete wish (image, network, limits) and the profile. The key says so in
 * one value, and placement compares nothing else.
 */
import { createHash } from 'node:crypto'
import { HoldfastError } from '@holdfast/protocol'
import type { SandboxWish, TenantPolicy } from '@holdfast/protocol'
import { PACKED_UIDS } from '../sandboxes/packing.ts'
import type { Transaction } from '../store/store.ts'
import { uidsInPack } from '../store/tables/sessions.ts'
import type { SessionRow } from '../store/tables/sessions.ts'

/** How many uids the sessions of one key have among them. */
const UIDS_PER_PACK = 1_000

export interface PackRules {
  /** Sessions in one sandbox, by profile. */
  readonly maxSessions: number
}

export interface Pack {
  readonly profile: string
  readonly key: string
  readonly uid: number
}

export interface PackWish {
  readonly profile: string
  readonly tenantId: string
  readonly owner: string
  readonly ownerGroup: string | null
  readonly wish: SandboxWish
}

/** Throws `forbidden` unless the tenant allows the profile. Gives the key and a uid that no open session of the key has. */
export async function joinPack(transaction: Transaction, policy: Pick<TenantPolicy, 'packing'>, wished: PackWish): Promise<Pack> {
  const { profile } = wished
  if (!policy.packing.profiles.includes(profile))
    throw new HoldfastError('forbidden', `the tenant allows no packing profile ${JSON.stringify(profile)}`, { profile })
  const key = packKeyOf(wished)
  const { first, count } = uidRangeOf(key)
  const taken = new Set(await uidsInPack(transaction, key))
  for (let uid = first; uid < first + count; uid += 1) if (!taken.has(uid)) return { profile, key, uid }
  throw new HoldfastError('capacity_exhausted', `all ${count} places of this packing profile are taken`, { limit: count })
}

/** Equal only for sessions that may see the same things. */
export function packKeyOf({ profile, tenantId, owner, ownerGroup, wish }: PackWish): string {
  const owners = ownerGroup === null ? ['owner', owner] : ['group', ownerGroup]
  const { image = null, network = null, limits = {} } = wish
  const shape = [image, network, ...Object.entries(limits).toSorted(([left], [right]) => (left < right ? -1 : 1))]
  return createHash('sha256')
    .update(JSON.stringify([tenantId, owners, profile, shape]))
    .digest('hex')
    .slice(0, 40)
}

/** The same for every sandbox of a key, so that a session keeps its uid, and its files, whichever one it is in. */
export function uidRangeOf(packKey: string): { readonly first: number; readonly count: number } {
  const ranges = Math.floor(PACKED_UIDS.count / UIDS_PER_PACK)
  const range = Number.parseInt(packKey.slice(0, 12), 16) % ranges
  return { first: PACKED_UIDS.first + range * UIDS_PER_PACK, count: UIDS_PER_PACK }
}

/** What placement asks for. */
export function packRoomOf({ packKey }: Pick<SessionRow, 'packKey'>, { maxSessions }: PackRules) {
  return packKey === null ? null : { key: packKey, maxSessions }
}
