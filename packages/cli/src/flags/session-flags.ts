/**
 * Which session: its id or key as an argument, or `--session`, or a scope with its variables.
 */
import { HoldfastError } from '@holdfast/protocol/errors'
import type { Command } from 'commander'
import { assignment } from './parse.ts'

export interface SessionFlags {
  readonly session?: string
  readonly scope?: string
  readonly var?: Readonly<Record<string, string>>
  /** Of commands that make sessions: its scope makes the key, unless something else does. */
  readonly pipeline?: string
}

/** How a session was named. */
export type SessionName =
  | { readonly id: string }
  | { readonly key: string }
  | { readonly scope: string | undefined; readonly variables: Readonly<Record<string, string>> }

const ID = /^ses_[0-9a-z]{8,}$/i

export function withSession(command: Command): Command {
  return command
    .optionsGroup('Session:')
    .option('-s, --session <session>', 'the id or the key of a session')
    .option('--scope <scope>', 'or the rule that makes its key: chat, user, … or a template such as {sender_id}')
    .option('--var <name=value>', 'a variable of the scope; may be repeated', assignment)
}

export function isNamedByFlags({ session, scope, var: variables }: SessionFlags): boolean {
  return session !== undefined || scope !== undefined || variables !== undefined
}

/** From a key or an id, whichever it is. */
export function nameOf(text: string): SessionName {
  if (text.trim() === '') throw wrongUse('the session is empty; give its id or key')
  return ID.test(text) ? { id: text } : { key: text }
}

/** From the argument, if there is one, or the flags. Exactly one of the ways must be taken. */
export function namedSession(argument: string | undefined, flags: SessionFlags): SessionName {
  const { session, scope, var: variables, pipeline } = flags
  const ways = [argument, session, scope ?? variables].filter((way) => way !== undefined)
  if (ways.length === 0 && pipeline !== undefined) return { scope, variables: {} }
  if (ways.length === 0) throw wrongUse('name the session: its id or key, or --scope with --var')
  if (ways.length > 1) throw wrongUse('name the session once: by its id or key, or by --scope with --var')
  const text = argument ?? session
  return text === undefined ? { scope, variables: variables ?? {} } : nameOf(text)
}

/** The session's argument may be left out where flags name it; what is left are the verb's own. */
export function takeSession(
  names: readonly string[],
  flags: SessionFlags,
  own: readonly string[],
): { readonly name: SessionName; readonly rest: readonly string[] } {
  const isByFlags = isNamedByFlags(flags)
  const expected = isByFlags ? own : ['session', ...own]
  if (names.length !== expected.length)
    throw wrongUse(`give ${expected.length === 0 ? 'no argument' : expected.map((one) => `<${one}>`).join(' ')}; got ${names.length}`)
  return { name: namedSession(isByFlags ? undefined : names[0], flags), rest: isByFlags ? names : names.slice(1) }
}

export function wrongUse(message: string): HoldfastError<'invalid_request'> {
  return new HoldfastError('invalid_request', message)
}
