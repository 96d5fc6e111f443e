/**
 * Versions in headers: a row's version as ETag, and the one a client decided on as If-Match.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'
import type { Route } from './route.ts'

export function etag({ version }: { readonly version: number }): Readonly<Record<string, string>> {
  return { etag: `"${version}"` }
}

/** A header that the route would not look at is refused: nobody is to believe in a condition that is not checked. */
export function ifMatchOf({ method, ifMatch }: Pick<Route, 'method' | 'ifMatch'>, header: string | undefined): number | undefined {
  if (header === undefined) {
    if (ifMatch === 'required')
      throw new HoldfastError('precondition_required', 'this request needs If-Match with the version that it is about')
    return undefined
  }
  if (method === 'GET') return undefined
  if (ifMatch === undefined) throw new HoldfastError('invalid_request', 'If-Match: is not looked at here; leave it out')
  const version = /^"(\d{1,15})"$/.exec(header)?.[1]
  if (version === undefined) throw new HoldfastError('invalid_request', 'If-Match: must be a version in quotes, such as "3"')
  return Number(version)
}

/** The version of a route whose If-Match is required, which the door has seen to. */
export function requiredVersion(ifMatch: number | undefined): number {
  if (ifMatch === undefined) throw new TypeError('the route does not require If-Match')
  return ifMatch
}
