/**
 * From what a person calls a session to the session.
 *
 * A key is looked for among the sessions that the caller may see, because that is what `sessions ls` shows. Two can read alike: then the
 * one whose key was given by its caller is meant, and where that is not one, the person is asked for the id.
 */
import { HoldfastError } from '@holdfast/protocol/errors'
import type { Holdfast, SandboxWish, Session, SessionRecord, SessionState } from '@holdfast/sdk'
import type { SessionName } from './flags/session-flags.ts'
import { wrongUse } from './flags/session-flags.ts'
import { scopeKey } from './scope-key.ts'
import { startSpinner } from './spinner.ts'

export const OPEN_STATES: readonly SessionState[] = ['pending', 'idle', 'active', 'suspended', 'closing']
/** More of the same key are not told one by one. */
const TOLD = 10
const READY_MS = 60_000

/** One that exists, open or ended. */
export async function findSession(holdfast: Holdfast, name: SessionName): Promise<Session> {
  if ('id' in name) return holdfast.sessions.get(name.id)
  const key = 'key' in name ? name.key : await keyOf(holdfast, name)
  const isScoped = !('key' in name)
  const ended = async () => (await holdfast.sessions.list({ key }).take(TOLD)).find(({ scope }) => !isScoped || scope !== null)
  const record = (await openSessionOf(holdfast, key, isScoped)) ?? (await ended())
  if (record === undefined) throw noSession(key)
  return holdfast.sessions.get(record.id)
}

/** The open session of that key; `null` when there is none. */
export async function openSessionOf(holdfast: Holdfast, key: string, isScoped = false): Promise<SessionRecord | null> {
  const alike = await holdfast.sessions.list({ key, state: OPEN_STATES }).take(TOLD)
  const open = isScoped ? alike.filter(({ scope }) => scope !== null) : alike
  if (open.length < 2) return open[0] ?? null
  const named = open.filter(({ scope }) => scope === null)
  if (named.length === 1 && named[0] !== undefined) return named[0]
  const words = open.map(({ id, owner, scope }) => `${id} (of ${owner}${scope === null ? '' : `, scope ${scope}`})`)
  throw wrongUse(`more than one open session has the key ${JSON.stringify(key)}: ${words.join(', ')}; give the id`)
}

async function keyOf(holdfast: Holdfast, { scope, variables }: Extract<SessionName, { readonly variables: unknown }>): Promise<string> {
  const scopes = await holdfast.scopes()
  const asked = scopes.forced ?? scope ?? scopes.default
  return scopeKey(scopes.items.find(({ name }) => name === asked)?.template ?? asked, variables)
}

function noSession(key: string): HoldfastError<'not_found'> {
  return new HoldfastError('not_found', `there is no session with the key ${JSON.stringify(key)}`)
}

/** What `exec` is to be told: an id where there is a session, otherwise what one is made from. */
export type Target = { readonly sessionId: string } | { readonly key: string } | Extract<SessionName, { readonly variables: unknown }>

/** `isWished`: what the sandbox is to be was said, and a session that is something else must refuse; only its own key asks for that. */
export async function targetOf(holdfast: Holdfast, name: SessionName, isWished: boolean): Promise<Target> {
  if ('id' in name && isWished)
    throw wrongUse('a session that is named by its id has its sandbox; leave out what shapes one, or give its key')
  if ('id' in name) return { sessionId: name.id }
  if (!('key' in name) || isWished) return name
  const found = await openSessionOf(holdfast, name.key)
  return found === null ? name : { sessionId: found.id }
}

/** The session to work in, which is made if need be. */
export async function useSession(holdfast: Holdfast, name: SessionName, wish: SandboxWish = {}): Promise<Session> {
  const target = await targetOf(
    holdfast,
    name,
    Object.values(wish).some((value) => value !== undefined),
  )
  if ('sessionId' in target) return holdfast.sessions.get(target.sessionId)
  const spinner = startSpinner('making the session ready')
  return holdfast.sessions.getOrCreate({ ...target, ...wish, waitMs: READY_MS }).finally(spinner.stop)
}
