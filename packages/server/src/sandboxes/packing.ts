/**
 * Several sessions in one sandbox: which uids they may have, where their places are, and what such a sandbox may not have.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * Why it is so, and what neighbours still share: docs/adr/0012-packing.md
 */
import { HoldfastError } from '@holdfast/protocol'
import type { Capabilities } from './backend.ts'
import type { SandboxSpec } from './spec.ts'

/**
 * No user of a host has one of these: they lie above what subordinate ids (up to 600,100,000) and directory services (up to
 * 2,000,200,000) are given, in the part that systemd's list of ids calls unused, and below 2^31, so that no program takes
 * them for negative. There are enough that no two sessions of a server need ever have the same.
 */
export const PACKED_UIDS = { first: 2_100_000_000, count: 40_000_000 } as const

/** Where `PackedUsers.source` is shown inside. Its users can pass through but not list it. */
export const PACKED_ROOT = '/sessions'

const PLACE_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/

/** The places of one session, inside; `packed-directory.ts` makes them on the host. */
export interface PackedPaths {
  readonly home: string
  readonly workspace: string
}

export function packedPaths(sessionId: string, homeGeneration = 0): PackedPaths {
  const place = packedPlace(sessionId)
  return { home: `${place}/${homeName(homeGeneration)}`, workspace: `${place}/workspace` }
}

/** On the host and inside: a home that was reset is a new directory. */
export function homeName(generation: number): string {
  return generation === 0 ? 'home' : `home-${generation}`
}

/** Holds both of them. */
export function packedPlace(sessionId: string): string {
  assertPlaceName(sessionId)
  return `${PACKED_ROOT}/${sessionId}`
}

/** The id becomes part of paths that root makes and removes, so nothing else is ever let through. */
export function assertPlaceName(sessionId: string): void {
  if (!PLACE_NAME.test(sessionId))
    throw new HoldfastError('invalid_request', `the session id ${JSON.stringify(sessionId.slice(0, 64))} cannot be a directory`)
}

/** Throws `capability_unsupported` unless a packed sandbox of this spec keeps its users apart. Nothing to do for others. */
export function assertPackable(kind: string, capabilities: Capabilities, spec: SandboxSpec): void {
  const { packed } = spec
  if (packed === undefined) return
  const refuse = (why: string): never => {
    throw new HoldfastError('capability_unsupported', `${kind} cannot pack sessions into this sandbox: ${why}`, { capability: 'packing' })
  }
  if (!capabilities.packing) refuse(capabilities.reasons.packing ?? 'it cannot be done here')
  const { first, count } = PACKED_UIDS
  const isRange = Number.isSafeInteger(packed.firstUid) && Number.isSafeInteger(packed.count) && packed.count >= 1
  if (!isRange || packed.firstUid < first || packed.firstUid + packed.count > first + count)
    refuse(`the uids ${packed.firstUid} to ${packed.firstUid + packed.count - 1} are not within ${first} to ${first + count - 1}`)
  if (!Number.isSafeInteger(packed.pidsPerUid) || packed.pidsPerUid < 1)
    refuse(`${packed.pidsPerUid} processes per uid are not a number from 1 on`)
  if (spec.rootfs === 'writable') refuse('a writable root is a place that all of them share')
  if (spec.user === 'root') refuse('root of the sandbox would be root of all of them')
  const shared = spec.mounts.find((mount) => mount.mode === 'rw')
  if (shared !== undefined) refuse(`the writable mount at ${shared.target} is a place that all of them share`)
  const inside = spec.mounts.find(({ target }) => target === PACKED_ROOT || target.startsWith(`${PACKED_ROOT}/`))
  if (inside !== undefined) refuse(`a mount at ${inside.target} would hide the places of sessions`)
}
