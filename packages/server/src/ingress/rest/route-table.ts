/**
 * The rules of the route table, checked before the first request: a server with a row that breaks one does not start.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'
import { z } from 'zod'
import { VERBS } from '../../access/roles.ts'
import { SESSION_VERBS } from '../../sessions/caller.ts'
import type { Route } from './route.ts'

const AUTHORIZATIONS: readonly string[] = [...VERBS, 'any-principal', 'public']

/** Throws for the first row that lacks its authorization, is there twice, or whose path and parameters do not agree. */
export function checkRoutes(routes: readonly Route[]): void {
  const seen = new Set<string>()
  for (const route of routes) {
    const name = `${route.method} ${route.path}`
    if (!AUTHORIZATIONS.includes(route.authorization)) throw broken(name, 'does not say who may use it')
    if (seen.has(name)) throw broken(name, 'is there twice')
    seen.add(name)
    const inPath = paramsIn(route.path).join(' ')
    const declared = route.params instanceof z.ZodObject ? Object.keys(route.params.shape).join(' ') : ''
    if (inPath !== declared) throw broken(name, `has the parameters (${inPath}) in its path and (${declared}) in its schema`)
    if (SESSION_VERBS.some((verb) => verb === route.authorization) && !isAboutSession(route))
      throw broken(name, `needs ${route.authorization}, which is decided for a session, and names none`)
  }
}

export function paramsIn(path: string): readonly string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '')
}

/** By its path, or by its body as `POST /v1/exec`. */
function isAboutSession({ path, body }: Route): boolean {
  return path.startsWith('/v1/sessions/{id}') || (body instanceof z.ZodObject && 'session_id' in body.shape)
}

function broken(name: string, what: string): HoldfastError {
  return new HoldfastError('internal', `the route ${name} ${what}`)
}
