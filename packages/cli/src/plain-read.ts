/**
 * One page of something that the client library only follows: what is there now, and no more.
 */
import { HoldfastError, isErrorCode } from '@holdfast/protocol/errors'
import { connectionOf } from './client.ts'
import type { ServerFlags } from './flags/server-flags.ts'

const PATIENCE_MS = 60_000

/** The answer's JSON; the caller says what the server sends. */
export async function plainRead(
  flags: ServerFlags,
  path: string,
  query: Readonly<Record<string, string | number>>,
): Promise<Readonly<Record<string, unknown>>> {
  const { url, apiKey } = await connectionOf(flags)
  const parameters = new URLSearchParams(Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]))
  const headers = {
    accept: 'application/json',
    ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
    ...(flags.tenant === undefined ? {} : { 'x-holdfast-tenant': flags.tenant }),
    ...(flags.as === undefined ? {} : { 'x-holdfast-on-behalf-of': flags.as }),
    ...(flags.group === undefined ? {} : { 'x-holdfast-groups': flags.group.join(',') }),
  }
  const address = `${url.replace(/(?<!\/)\/+$/, '')}${path}?${parameters.toString()}`
  const response = await fetch(address, { headers, redirect: 'manual', signal: AbortSignal.timeout(PATIENCE_MS) }).catch(
    (cause: unknown) => {
      throw new HoldfastError('server_unreachable', `cannot reach the server at ${url}`, {}, { cause })
    },
  )
  const answer: unknown = await response.json().catch(() => null)
  if (response.ok && isRecord(answer)) return answer
  const { code, title, details } = isRecord(answer) ? answer : {}
  if (typeof code !== 'string' || !isErrorCode(code))
    throw new HoldfastError('server_unreachable', `${url} answered ${response.status}, and not as Holdfast does`)
  throw new HoldfastError(code, typeof title === 'string' ? title : code, isRecord(details) ? details : {})
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
