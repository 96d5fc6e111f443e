/**
 * Which conversation an MCP client speaks for, from its address and its headers.
 *
 * [ingress] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * What a header says is put into the address, so that both are read by one schema, and what is said twice is refused by its name.
 */
import { ToolCallBody } from '@holdfast/protocol'
import { z } from 'zod'
import { parseQuery } from '../../rest/parse.ts'

/** Of a client that names no conversation: each owner has one session of this key. */
export const USUAL_KEY = 'mcp'

const HEADER_PREFIX = 'holdfast-'
const VARIABLE_HEADER = 'holdfast-var-'
const VARIABLE = 'var.'
const SESSION_ID = /^ses_[0-9a-z]{8,}$/

const { session, session_id, scope, variables, missing, pipeline, profile } = ToolCallBody.shape
const Named = z
  .strictObject({ session, session_id, scope, variables, missing, pipeline, profile })
  .refine((named) => (named.session ?? named.session_id) === undefined || (named.scope ?? named.variables) === undefined, {
    error: 'give either session, or scope with its variables',
    path: ['session'],
  })

export type Conversation = z.output<typeof Named>

/** `session=…`, or `scope=…&var.name=…`; `pipeline=…` and `profile=…` with both. */
export const ConversationQuery = z
  .record(z.string(), z.string())
  .transform((query): z.input<typeof Named> => {
    const entries = Object.entries(query)
    const given = entries
      .filter(([name]) => name.startsWith(VARIABLE))
      .map(([name, value]) => [name.slice(VARIABLE.length), value] as const)
    const { session: named, ...rest } = Object.fromEntries(entries.filter(([name]) => !name.startsWith(VARIABLE)))
    const isId = named !== undefined && SESSION_ID.test(named)
    const conversation = {
      ...rest,
      ...(named === undefined ? {} : isId ? { session_id: named } : { session: named }),
      ...(given.length === 0 ? {} : { variables: Object.fromEntries(given) }),
    }
    return isOpen(conversation) && !('pipeline' in conversation) ? { ...conversation, session: USUAL_KEY } : conversation
  })
  .pipe(Named)

/** Neither a session nor a rule for one. */
function isOpen(named: { readonly [name in 'session' | 'session_id' | 'scope' | 'variables']?: unknown }): boolean {
  return (named.session ?? named.session_id ?? named.scope ?? named.variables) === undefined
}

/** What is said in the same words means the same; reading it costs more than all else that a small call needs. */
const MAXIMUM_REMEMBERED = 512
const LONGEST_REMEMBERED = 1_024

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

/** From the query of an address and the headers beside it. Throws `invalid_request`. */
export type ConversationOf = (search: string, headers: Headers) => Conversation

export function conversationsOf(): ConversationOf {
  const remembered = new Map<string, Conversation>()
  return (search, headers) => {
    const words = [search, ...saidIn(headers).flat()].join('\n')
    const known = remembered.get(words)
    if (known !== undefined) return known
    const query = new URLSearchParams(search)
    for (const [name, value] of saidIn(headers)) query.append(fieldOf(name), value)
    const conversation = parseQuery(ConversationQuery, query)
    if (words.length > LONGEST_REMEMBERED) return conversation
    if (remembered.size >= MAXIMUM_REMEMBERED) remembered.clear()
    remembered.set(words, conversation)
    return conversation
  }
}

function saidIn(headers: Headers): [name: string, value: string][] {
  const said: [string, string][] = []
  for (const name in headers) if (name.startsWith(HEADER_PREFIX)) said.push([name, [headers[name] ?? ''].flat().join(', ')])
  return said
}

/** `Holdfast-Session: a` → `?session=a`; `Holdfast-Var-Launcher-Type: group` → `?var.launcher_type=group`. */
export function addressed(request: Request): Request {
  const said = [...request.headers].filter(([name]) => name.startsWith(HEADER_PREFIX))
  if (said.length === 0) return request
  const url = new URL(request.url)
  for (const [name, value] of said) url.searchParams.append(fieldOf(name), value)
  return new Request(url, request)
}

/** Names of headers have no case, and some proxies drop those with "_". */
function fieldOf(header: string): string {
  if (!header.startsWith(VARIABLE_HEADER)) return header.slice(HEADER_PREFIX.length)
  return `${VARIABLE}${header.slice(VARIABLE_HEADER.length).replaceAll('-', '_')}`
}
