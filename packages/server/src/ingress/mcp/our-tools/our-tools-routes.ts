/**
 * `POST /mcp`: one message of an MCP client, served by itself.
 *
 * [ingress] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * Nothing is kept between requests but calls that go on. What becomes of a message in each era of the protocol is its library's affair.
 */
import { createMcpHandler } from '@modelcontextprotocol/server'
import { randomId } from '../../../home/random-id.ts'
import type { Sessions } from '../../../sessions/sessions.ts'
import type { Tools } from '../../../tools/tools.ts'
import type { WholeAnswer } from '../../direct-door.ts'
import type { MakePreview } from '../../preview/make-preview.ts'
import { ByteContent } from '../../rest/byte-content.ts'
import { bytes, route } from '../../rest/route.ts'
import type { Route, Visit } from '../../rest/route.ts'
import type { KeyNeeds } from '../../rest/session-requests.ts'
import { wholeOf } from '../../../mcp/share/large-json.ts'
import { METHOD_NOT_FOUND } from '../../../mcp/share/message.ts'
import { refuse } from '../http/json-answer.ts'
import { callsUnderWay } from './calls-under-way.ts'
import { ConversationQuery } from './conversation.ts'
import { conversationSessions } from './conversation-session.ts'
import { readMessage, understand } from './message.ts'
import { modelTools } from './model-tools.ts'
import { sessionTools } from './session-tools.ts'
import type { ToolOffer, ToolVisit } from './tool-offer.ts'
import { toolServer } from './tool-server.ts'

const NOTHING_TO_TELL = { status: 404, code: METHOD_NOT_FOUND, message: 'these tools tell of no changes' }
const CLIENT_ID = /^[\x21-\x7e]{1,128}$/
/** What the library reads. */
const HEADERS = ['accept', 'content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name']

export interface OurToolsRoutesNeeds extends KeyNeeds {
  readonly tools: Tools
  readonly sessions: Pick<Sessions, 'getOrCreate' | 'reads' | 'steering'>
  readonly makePreview: MakePreview
  /** Of this software. */
  readonly release: string
  /** What is shown beside our own. */
  readonly moreTools?: readonly ToolOffer[]
}

export function ourToolsRoutes(needs: OurToolsRoutesNeeds): readonly Route[] {
  const { tools, sessions, makePreview, scopes, pipelines, release, moreTools = [] } = needs
  const { reads, steering } = sessions
  const sessionIdOf = conversationSessions({ getOrCreate: (...asked) => sessions.getOrCreate(...asked), scopes, pipelines })
  const offers = [modelTools({ tools, sessionIdOf, makePreview }), sessionTools({ reads, steering, sessionIdOf }), ...moreTools]
  const offered = { release, guidance: tools.guidance(), offers }
  const calls = callsUnderWay()

  async function answerTo(text: string, method: string | null, call: Visit, visit: ToolVisit): Promise<Response> {
    let failure: unknown = null
    const handler = createMcpHandler(() => toolServer(offered, visit), {
      // A silent answer is cut by proxies; a stream says that it is still there.
      responseMode: method === 'tools/call' ? 'sse' : 'auto',
      onerror: (error) => (failure = error),
    })
    const response = await handler.fetch(requestOf(text, call))
    // To the client it is bare; the log has the rest.
    if (response.status >= 500) call.problemOf(failure)
    return response
  }

  return [
    route({
      method: 'POST',
      path: '/mcp',
      summary: 'Send a message to our tools as an MCP server',
      authorization: 'any-principal',
      query: ConversationQuery,
      body: new ByteContent('application/json'),
      headers: {
        'Mcp-Session-Id': 'What initialize was answered with, so that a call can be cancelled.',
        'Holdfast-Session': 'The key or the id of the session.',
        'Holdfast-Scope': 'Or the rule that makes its key, with its variables in Holdfast-Var-<name>.',
      },
      answers: { 200: bytes('application/json', 'The answer, as JSON or as a stream of messages') },
      errors: ['payload_too_large'],
      async handle(call) {
        const { query: conversation, body, principal, caller, requestId, recheck, problemOf } = call
        const text = await readMessage(body, call.reserve)
        const { method, id, cancels } = understand(text)
        // The library would refuse for want of room, and a client would come back.
        if (method === 'subscriptions/listen' && id !== null) return responseOf(refuse(call, NOTHING_TO_TELL, id))
        const client = { principal, clientId: clientIdOf(call) }
        if (cancels !== null) calls.cancel(client, cancels)
        const visit = {
          ...{ principal, caller, conversation, requestId, recheck, problemOf },
          underWay: (asked: string | number) => calls.begin(client, asked),
        }
        // What was sent is kept by the library until the call is over, and counts for so long.
        const closed = method === 'tools/call' ? call.streamOpened?.() : undefined
        const response = untilRead(await answerTo(text, method, call, visit).catch(closing(closed)), closed)
        response.headers.set('cache-control', 'no-store')
        response.headers.set('x-accel-buffering', 'no')
        response.headers.set('x-request-id', call.requestId)
        if (method === 'initialize' && response.ok) response.headers.set('mcp-session-id', randomId('mcp'))
        return response
      },
    }),
  ]
}

function closing(closed: (() => void) | undefined): (error: unknown) => never {
  return (error) => {
    closed?.()
    throw error
  }
}

/** The same answer; `closed` is called when its body has ended, or nobody reads it any more. */
function untilRead(response: Response, closed: (() => void) | undefined): Response {
  const { body } = response
  if (closed === undefined) return response
  if (body === null) {
    closed()
    return response
  }
  const reader: ReadableStreamDefaultReader<Uint8Array> = body.getReader()
  const held = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read().catch(closing(closed))
        if (!done) return controller.enqueue(value)
        closed()
        controller.close()
      },
      async cancel(reason) {
        closed()
        await reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(held, { status: response.status, headers: response.headers })
}

function responseOf({ status, headers, text }: WholeAnswer): Response {
  return new Response(wholeOf(text), { status, headers })
}

function clientIdOf({ header }: Visit): string | undefined {
  const id = header('mcp-session-id')
  return id !== undefined && CLIENT_ID.test(id) ? id : undefined
}

function requestOf(body: string, { header, signal }: Visit): Request {
  const headers = new Headers()
  for (const name of HEADERS) {
    const value = header(name)
    if (value !== undefined) headers.set(name, value)
  }
  return new Request('http://localhost/mcp', { method: 'POST', headers, body, signal })
}
