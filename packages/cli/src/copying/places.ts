/**
 * `session:path` and local paths told apart, as `scp` and `docker cp` do.
 */
import { nameOf, isNamedByFlags, namedSession, wrongUse } from '../flags/session-flags.ts'
import type { SessionFlags, SessionName } from '../flags/session-flags.ts'

export interface InsidePlace {
  readonly session: SessionName
  /** Absolute, or relative to the workspace. */
  readonly path: string
}

/**
 * `null` for a path of this machine. `:path` is in the session that the flags name. A key may hold colons: then the path is what follows
 * the first `:/`, or else the last colon.
 */
export function insidePlace(text: string, flags: SessionFlags): InsidePlace | null {
  if (text === '-' || /^\.{0,2}\//.test(text) || !text.includes(':')) return null
  if (text.startsWith(':')) return { session: namedSession(undefined, flags), path: text.slice(1) || '.' }
  const colon = colonOf(text)
  // A path such as `notes/a:b` is of this machine.
  if (text.slice(0, colon).includes('/') && !text.includes(':/')) return null
  if (isNamedByFlags(flags)) throw wrongUse(`${JSON.stringify(text)} names a session, and so do the flags; write :path instead`)
  return { session: nameOf(text.slice(0, colon)), path: text.slice(colon + 1) || '.' }
}

function colonOf(text: string): number {
  if (/^ses_[0-9a-z]{8,}:/i.test(text)) return text.indexOf(':')
  const absolute = text.indexOf(':/')
  return absolute > 0 ? absolute : text.lastIndexOf(':')
}

/** For verbs that are about files inside: without a colon it is a session, and its workspace is meant. */
export function filePlace(text: string, flags: SessionFlags): InsidePlace {
  if (isNamedByFlags(flags)) return { session: namedSession(undefined, flags), path: text.replace(/^:/, '') || '.' }
  const place = insidePlace(text, flags)
  if (place !== null) return place
  if (/^\.{0,2}\//.test(text) || text === '-') throw wrongUse(`${JSON.stringify(text)} names no session; write session:path`)
  return { session: nameOf(text), path: '.' }
}
