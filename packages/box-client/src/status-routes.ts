/**
 * The status of a Box over HTTP, for a host's own pages: requests in, responses out, whatever server carries them.
 *
 * Whoever mounts these routes asks who is calling first: sessions and errors tell of others' work.
 */
import type { BoxContext } from '@holdfast/protocol/box'
import { reasonOf } from './log.ts'
import type { BoxService } from './service/service.ts'

const PREFIX = '/api/v1/box/'

export interface StatusRoutesOptions {
  /** For whom a request is; the service's own context unless given. */
  readonly contextOf?: (request: Request) => BoxContext | Promise<BoxContext>
  /** Whether the pages hide the Box. */
  readonly hidden?: boolean
}

type StatusService = Pick<BoxService, 'context' | 'getStatus' | 'getBackendStatus' | 'getSessions' | 'getErrors'>

/** Gives `null` for every other address. */
export function boxStatusRoutes(service: StatusService, options: StatusRoutesOptions = {}): (request: Request) => Promise<Response | null> {
  const { contextOf = () => service.context, hidden = false } = options
  const routes = new Map<string, (context: BoxContext) => unknown>([
    ['status', async (context) => ({ ...(await service.getStatus(context)), hidden })],
    ['runtime-status', () => service.getBackendStatus()],
    ['sessions', (context) => service.getSessions(context)],
    ['errors', (context) => service.getErrors(context)],
  ])
  return async (request) => {
    const { pathname } = new URL(request.url)
    const answer = pathname.startsWith(PREFIX) ? routes.get(pathname.slice(PREFIX.length)) : undefined
    if (answer === undefined) return null
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return failed(405, `${request.method} is not allowed here`, { allow: 'GET, HEAD' })
    try {
      const data = await answer(await contextOf(request))
      return json(200, { code: 0, msg: 'ok', data }, {})
    } catch (error) {
      // Only `contextOf` can fail here; what it says is the host's own.
      return failed(403, reasonOf(error), {})
    }
  }
}

function failed(status: number, msg: string, headers: Readonly<Record<string, string>>): Response {
  return json(status, { code: -1, msg }, headers)
}

function json(status: number, body: object, headers: Readonly<Record<string, string>>): Response {
  return Response.json(body, { status, headers: { 'cache-control': 'no-store', ...headers } })
}
