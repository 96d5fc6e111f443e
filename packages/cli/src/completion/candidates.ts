/**
 * What the server has to complete a word with: a word each, and what it is behind a tab.
 */
import type { Holdfast } from '@holdfast/sdk'
import { filePlace } from '../copying/places.ts'
import { findSession, OPEN_STATES } from '../find-session.ts'
import { nameOf } from '../flags/session-flags.ts'
import { printable } from '../output/printable.ts'

const MOST = 200
/** Others would need quotes in a shell. */
const PLAIN = /^[\w@%+=,./-]+$/
/** Verbs whose first argument is a session and whose second is one of its processes. */
const PROCESS_VERBS = ['logs', 'attach', 'kill']

/** `before` and `current`: the word before the one that is completed, and what is typed of it. */
export async function candidates(holdfast: Holdfast, kind: string, before: string, current: string): Promise<readonly string[]> {
  if (kind === 'scopes') return (await holdfast.scopes()).items.map(({ name }) => name)
  if (kind === 'servers') return (await holdfast.mcp.list()).map(({ name }) => name)
  if (kind === 'paths') return paths(holdfast, current)
  if (kind === 'processes' && !PROCESS_VERBS.includes(before) && !before.startsWith('-')) return processes(holdfast, before)
  return sessions(holdfast)
}

async function sessions(holdfast: Holdfast): Promise<readonly string[]> {
  const open = await holdfast.sessions.list({ state: OPEN_STATES, pageSize: MOST }).take(MOST)
  return open.flatMap(({ id, key, state }) => [...(PLAIN.test(key) ? [`${key}\t${state}`] : []), `${id}\t${printable(key)}`])
}

async function processes(holdfast: Holdfast, name: string): Promise<readonly string[]> {
  const session = await findSession(holdfast, nameOf(name))
  const [named, recent] = await Promise.all([session.processes.list(), session.commands.list().take(20)])
  return [...named.map((process) => `${process.name}\t${process.status}`), ...recent.map(({ id, status }) => `${id}\t${status}`)]
}

/** Of `demo:data/re` what is in `data`. */
async function paths(holdfast: Holdfast, current: string): Promise<readonly string[]> {
  if (!current.includes(':')) return []
  const place = filePlace(current, {})
  const directory = place.path === '.' && current.endsWith(':') ? '' : place.path.slice(0, place.path.lastIndexOf('/') + 1)
  const session = await findSession(holdfast, place.session)
  const { items } = await session.files.list(directory === '' ? '.' : directory, { depth: 1, limit: MOST })
  const before = current.slice(0, current.length - (place.path === '.' && current.endsWith(':') ? 0 : place.path.length))
  return items
    .map(({ path, type }) => `${directory}${path.slice(path.lastIndexOf('/') + 1)}${type === 'directory' ? '/' : ''}`)
    .filter((path) => PLAIN.test(path))
    .map((path) => `${before}${path}`)
}
