/**
 * The socket table: its rules, checked before the first request, and the way from an address to its row.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'
import { z } from 'zod'
import { SESSION_VERBS } from '../../sessions/caller.ts'
import { paramsIn } from '../rest/route-table.ts'
import type { SocketRow } from './socket-row.ts'

/** Throws for the first row that lacks its authorization, is there twice, is about no session, or whose path and parameters do not agree. */
export function checkSockets(rows: readonly SocketRow[]): void {
  const seen = new Set<string>()
  for (const { path, authorization, params } of rows) {
    if (!SESSION_VERBS.includes(authorization)) throw broken(path, 'does not say who may use it')
    if (seen.has(path)) throw broken(path, 'is there twice')
    seen.add(path)
    if (!path.startsWith('/v1/sessions/{id}/')) throw broken(path, `needs ${authorization}, which is decided for a session, and names none`)
    const inPath = paramsIn(path).join(' ')
    const declared = params instanceof z.ZodObject ? Object.keys(params.shape).join(' ') : ''
    if (inPath !== declared) throw broken(path, `has the parameters (${inPath}) in its path and (${declared}) in its schema`)
  }
}

export interface FoundSocket {
  readonly row: SocketRow
  readonly params: Readonly<Record<string, string>>
}

/** `null` when no row has this address. */
export function matchSocket(rows: readonly SocketRow[], pathname: string): FoundSocket | null {
  for (const row of rows) {
    const names = paramsIn(row.path)
    const values = new RegExp(`^${row.path.replaceAll(/\{\w+\}/g, '([^/]+)')}$`).exec(pathname)
    if (values !== null) return { row, params: Object.fromEntries(names.map((name, index) => [name, values[index + 1] ?? ''])) }
  }
  return null
}

function broken(path: string, what: string): HoldfastError {
  return new HoldfastError('internal', `the socket ${path} ${what}`)
}
