/**
 * The one message in the body of a request, and which era of the protocol it belongs to.
 *
 * [ingress] → mcp → access → policy → sessions → sandboxes → guest → result
 */
import { classifyInboundRequest, isJsonContentType, PROTOCOL_VERSION_META_KEY } from '@modelcontextprotocol/server'
import { MODERN_VERSION } from '../../../mcp/share/envelope.ts'
import { parseJson } from '../../../mcp/share/exact-json.ts'
import { isLarge, LargeJson, largeObject } from '../../../mcp/share/large-json.ts'
import { isId, isObject, messageOf, metaOf } from '../../../mcp/share/message.ts'
import type { RpcId, RpcMessage, RpcNotification, RpcRequest } from '../../../mcp/share/message.ts'
import type { JsonBody } from '../../direct-body.ts'
import { parsedWeight } from '../../pipeline/work-budget.ts'
import type { GatewayVisit } from './gateway-visit.ts'
import type { Refusal } from './json-answer.ts'
import type { GatewayLimits } from './limits.ts'
import { missingHeader } from './modern-headers.ts'

export type Read =
  | { readonly kind: 'refused'; readonly refusal: Refusal; readonly id: RpcId | null }
  | { readonly kind: 'legacy'; readonly message: RpcMessage }
  | { readonly kind: 'modern'; readonly message: RpcRequest | RpcNotification }

const PARSE_ERROR = -32700
const INVALID_REQUEST = -32600
const UNSUPPORTED_VERSION = -32022
/** What they say is kept for as long as their client is there. */
const REMEMBERED: ReadonlySet<string> = new Set(['initialize', 'subscriptions/listen'])

type ReadLimits = Pick<GatewayLimits, 'bodyBytes' | 'firstBytes'>

/** Throws `payload_too_large`. */
export async function readMessage(visit: GatewayVisit, { bodyBytes, firstBytes }: ReadLimits): Promise<Read> {
  const { header } = visit
  if (!isJsonContentType(header('content-type') ?? null))
    return refused({ status: 415, code: INVALID_REQUEST, message: 'Content-Type: must be application/json' })
  const body = await visit.jsonBody(bodyBytes)
  const { length } = body.bytes
  const value = valueOf(body, visit)
  if (value === undefined) return refused({ status: 400, code: PARSE_ERROR, message: 'the body is not JSON' })
  if (Array.isArray(value))
    return refused({ status: 400, code: INVALID_REQUEST, message: 'the body is a batch; send one message at a time' })
  const message = messageOf(value)
  if (message === null) return refused({ status: 400, code: INVALID_REQUEST, message: 'the body is no JSON-RPC message' }, idOf(value))
  // It is read and changed on the way, so it is never text.
  if (message.kind !== 'answer' && message.params?.['_meta'] instanceof LargeJson)
    return refused({ status: 400, code: INVALID_REQUEST, message: 'params._meta is too large' }, idOf(value))
  if (message.kind === 'request' && REMEMBERED.has(message.method) && length > firstBytes)
    return refused({ status: 400, code: INVALID_REQUEST, message: `${message.method} has at most ${firstBytes} characters` }, message.id)
  if (isOfBefore(message, header('mcp-protocol-version'))) return { kind: 'legacy', message }
  const outcome = classifyInboundRequest({
    httpMethod: 'POST',
    ...present('protocolVersionHeader', header('mcp-protocol-version')),
    ...present('mcpMethodHeader', header('mcp-method')),
    ...present('mcpNameHeader', header('mcp-name')),
    body: value,
  })
  if (outcome.kind === 'reject') {
    const { httpStatus: status, code, message: said, data } = outcome
    return refused({ status, code, message: said, ...(data === undefined ? {} : { data }) }, idOf(value))
  }
  if (outcome.kind === 'legacy' || message.kind === 'answer') return { kind: 'legacy', message }
  const requested = outcome.classification.revision
  if (requested !== MODERN_VERSION)
    return refused(
      {
        status: 400,
        code: UNSUPPORTED_VERSION,
        message: `Unsupported protocol version: ${String(requested).slice(0, 50)}`,
        data: { supported: [MODERN_VERSION], requested },
      },
      idOf(value),
    )
  const missing = message.kind === 'request' ? missingHeader(message, header) : null
  return missing === null ? { kind: 'modern', message } : refused(missing, idOf(value))
}

/** What says nothing of the newer revision, in its body or above it; most do, and need no closer look. */
function isOfBefore(message: RpcMessage, version: string | undefined): boolean {
  if (version !== undefined && version.trim() >= MODERN_VERSION) return false
  return message.kind === 'answer' || !Object.hasOwn(metaOf(message.params), PROTOCOL_VERSION_META_KEY)
}

/** What is too large to be parsed keeps its large members as text. `undefined`: it is not JSON. */
function valueOf({ bytes, scan }: JsonBody, { reserve }: GatewayVisit): unknown {
  if (scan !== null && isLarge(scan)) {
    // A batch is refused; what it holds does not matter.
    if (scan.problem !== null) return undefined
    return scan.isObject ? largeObject(bytes, scan) : []
  }
  reserve(parsedWeight(0, scan?.members ?? bytes.length / 3))
  try {
    return parseJson(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}

function idOf(value: unknown): RpcId | null {
  return isObject(value) && typeof value['method'] === 'string' && isId(value['id']) ? value['id'] : null
}

function present<N extends string>(name: N, value: string | undefined): { readonly [name in N]?: string } {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the name is the one that was given
  return (value === undefined ? {} : { [name]: value }) as { readonly [name in N]?: string }
}

function refused(refusal: Refusal, id: RpcId | null = null): Read {
  return { kind: 'refused', refusal, id }
}
