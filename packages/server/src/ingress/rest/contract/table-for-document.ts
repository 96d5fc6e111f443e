/**
 * The route table of a server that is not there: rows are read, and no handler is ever called.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { restRoutes } from '../rest.ts'
import type { RouteNeeds } from '../rest.ts'
import type { Route } from '../route.ts'

export function tableForDocument(): readonly Route[] {
  const nobody: object = new Proxy({}, { get: () => nobody })
  return restRoutes({ sessions: nobody, store: nobody, mcp: nobody, pageKey: new Uint8Array(32), release: '' } as RouteNeeds)
}
