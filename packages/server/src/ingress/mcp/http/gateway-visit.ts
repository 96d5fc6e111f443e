/**
 * A request to the gateway, once its sender came in, and the server that it is for.
 *
 * [ingress] → mcp → access → policy → sessions → sandboxes → guest → result
 */
import type { SharedServer } from '../../../mcp/share/shared-server.ts'
import type { JsonBody } from '../../direct-body.ts'
import type { Reserve } from '../../direct-body.ts'
import type { Visit } from '../../rest/route.ts'
import type { ToolRules } from './tool-rules.ts'

export interface GatewayVisit extends Pick<Visit, 'requestId' | 'signal' | 'header' | 'problemOf' | 'recheck' | 'streamOpened'> {
  readonly method: 'POST' | 'GET' | 'DELETE'
  /** Throws `payload_too_large`, and what `reserve` does. */
  jsonBody(limitBytes: number): Promise<JsonBody>
  readonly reserve: Reserve
}

export interface OpenedServer {
  readonly server: Pick<SharedServer, 'initialized' | 'isOver' | 'ended' | 'connect'>
  readonly tools?: ToolRules | undefined
  /** Throws when whoever opened it may not use it any more. */
  readonly recheck?: (() => Promise<void>) | undefined
}

/** Which server, and for whom. */
export interface GatewayTarget {
  /** Who asks: what is counted for each is counted by it. */
  readonly visitor: string
  /** Names who asks, the server and the conversation: what a client began for one of them is not there for another. */
  readonly holder: string
  /** Starts it if it does not run. Asked anew with each request, so that one that ended comes back. */
  open(signal: AbortSignal): Promise<OpenedServer>
}
