/**
 * Which users of the host a session's sandbox runs as: where the server is root, or its account has subordinate ids.
 *
 * The kernel counts many things per user: inotify instances, message queues, descriptors in flight, epoll watches. It charges the user of
 * the process and the user who made its namespace, so each session has two users of its own: one for its commands, and one for the guest.
 * They follow from the session's id: nothing is allocated, and nothing is left to give back. Why: docs/adr/0022-host-users.md
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { HoldfastError } from '@holdfast/protocol'
import { hasErrorCode } from '../home/error-code.ts'
import { PACKED_UIDS } from './packing.ts'
import type { HostUsers } from './spec.ts'

export interface UidRange {
  readonly first: number
  readonly count: number
}

/**
 * No user of a host has one of these: they lie above what subordinate ids (up to 600,100,000) and directory services (up to 2,000,200,000)
 * are given, below `PACKED_UIDS`, and below 2^31, so that no program takes them for negative.
 */
export const DEFAULT_UID_RANGE: UidRange = { first: 2_010_000_000, count: 80_000_000 }

/** Users 1 to 1000 of a sandbox with `user: root`, and nobody. */
export const SYSTEM_USERS = 1001

/** The same id always has the same users; two ids have the same ones with a probability of 2 / `count`. */
export function hostUsersOf({ first, count }: UidRange, id: string): HostUsers {
  const pairs = Math.floor(count / 2)
  const pair = Number.parseInt(createHash('sha256').update(id).digest('hex').slice(0, 12), 16) % pairs
  return { commands: first + 2 * pair, guest: first + 2 * pair + 1 }
}

/** The first of `SYSTEM_USERS` ids in a row that hold none of `others`; `null` in a range that is too small. They follow from the id too. */
export function systemUsersOf({ first, count }: UidRange, id: string, others: readonly number[]): number | null {
  const blocks = Math.floor(count / SYSTEM_USERS)
  const start = Number.parseInt(createHash('sha256').update(id).digest('hex').slice(12, 24), 16)
  for (let step = 0; step < Math.min(blocks, others.length + 1); step += 1) {
    const candidate = first + ((start + step) % blocks) * SYSTEM_USERS
    if (others.every((uid) => uid < candidate || uid >= candidate + SYSTEM_USERS)) return candidate
  }
  return null
}

/** Files of a host that say which ids are somebody's; given by tests of another host. */
export type ReadHostFile = (path: string) => string

/**
 * Throws `config_invalid` for a range that holds ids of somebody else. Returns why the range cannot be used here (the server has its own
 * user namespace, as in some containers), or `null`.
 */
export function checkUidRange(range: UidRange, read: ReadHostFile = readHostFile): string | null {
  const refuse = (owner: string): never => {
    throw new HoldfastError(
      'config_invalid',
      `sandbox_uids ${range.first}-${range.first + range.count - 1} holds ids of ${owner}; choose another range, or none`,
      { key: 'sandbox_uids' },
    )
  }
  if (overlaps(range, PACKED_UIDS)) refuse('packed sessions')
  for (const file of ['/etc/subuid', '/etc/subgid'])
    for (const { name, ids } of delegatedIds(read(file))) if (overlaps(range, ids)) refuse(`${name} in ${file}`)
  for (const file of ['/etc/passwd', '/etc/group'])
    for (const { name, ids } of ownIds(read(file))) if (overlaps(range, ids)) refuse(`${name} in ${file}`)
  const isMapped = ['/proc/self/uid_map', '/proc/self/gid_map'].every((file) => holds(read(file), range))
  return isMapped ? null : 'the user namespace of the server does not have these ids'
}

function overlaps(left: UidRange, right: UidRange): boolean {
  return left.first < right.first + right.count && right.first < left.first + left.count
}

/** Lines of `name:first:count`. */
export function delegatedIds(text: string) {
  return rows(text, ':').map(([name = '', first, count]) => ({ name, ids: { first: Number(first), count: Number(count) } }))
}

/** Lines of `name:password:id:…`. */
function ownIds(text: string) {
  return rows(text, ':').map(([name = '', , id]) => ({ name, ids: { first: Number(id), count: 1 } }))
}

/** Lines of `here there count`. */
function holds(map: string, { first, count }: UidRange): boolean {
  return rows(map, ' ').some((row) => {
    const [here = 0, , length = 0] = row.filter((field) => field !== '').map(Number)
    return here <= first && first + count <= here + length
  })
}

function rows(text: string, separator: string): readonly (readonly string[])[] {
  return text.split('\n').flatMap((line) => (line === '' || line.startsWith('#') ? [] : [line.split(separator)]))
}

export function readHostFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return ''
    throw error
  }
}
