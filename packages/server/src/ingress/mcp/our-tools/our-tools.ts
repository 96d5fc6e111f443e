/**
 * Our tools as an MCP server at `/mcp`, over Streamable HTTP of both protocol eras.
 *
 * [ingress] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * Comes in through the REST door, with a table of its own: the same checks of host, origin, key and rate in the same order.
 */
import type { Hono } from 'hono'
import { restDoor } from '../../rest/door.ts'
import type { DoorEnvironment, DoorNeeds } from '../../rest/door.ts'
import { addressed } from './conversation.ts'
import { ourToolsRoutes } from './our-tools-routes.ts'
import type { OurToolsRoutesNeeds } from './our-tools-routes.ts'

export interface OurToolsServer {
  fetch: Hono<DoorEnvironment>['fetch']
}

export function ourToolsServer(needs: OurToolsRoutesNeeds & Omit<DoorNeeds, 'routes'>): OurToolsServer {
  const door = restDoor({ ...needs, routes: ourToolsRoutes(needs) })
  return {
    fetch: (request, ...rest) => door.fetch(addressed(request), ...rest),
  }
}
