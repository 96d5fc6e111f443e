/**
 * JSON-RPC messages: from the text of a line, and back.
 *
 * ingress → [mcp] → access → policy → sessions → sandboxes → guest → result
 *
 * What passes through here is changed by nobody: an integer that a JavaScript number cannot hold keeps its digits.
 */
import { parseJson } from './exact-json.ts'
import { jsonText, LargeJson } from './large-json.ts'
import type { JsonText } from './large-json.ts'

export type RpcId = string | number
export type JsonObject = Readonly<Record<string, unknown>>

export interface RpcRequest {
  readonly kind: 'request'
  readonly id: RpcId
  readonly method: string
  readonly params: JsonObject | undefined
}

export interface RpcNotification {
  readonly kind: 'notification'
  readonly method: string
  readonly params: JsonObject | undefined
}

export interface RpcError {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** What one end answers to a request of the other. */
export type Reply = { readonly result: JsonObject } | { readonly error: RpcError }

export interface RpcAnswer {
  readonly kind: 'answer'
  readonly id: RpcId
  readonly reply: Reply
}

export type RpcMessage = RpcRequest | RpcNotification | RpcAnswer

export const METHOD_NOT_FOUND = -32601
export const INVALID_PARAMS = -32602
export const INTERNAL_ERROR = -32603

/** `null`: this is no message. */
export function messageOf(value: unknown): RpcMessage | null {
  if (!isObject(value)) return null
  const { id, method, params } = value
  if (params !== undefined && !isObject(params)) return null
  if (typeof method === 'string') {
    if (id === undefined) return { kind: 'notification', method, params }
    return isId(id) ? { kind: 'request', id, method, params } : null
  }
  const reply = replyOf(value)
  return isId(id) && reply !== null ? { kind: 'answer', id, reply } : null
}

/** The messages of one line: several where a server of an older revision answers in a batch, none where it is something else. */
export function messagesOf(text: string): readonly RpcMessage[] {
  const value = parsed(text)
  const messages = (Array.isArray(value) ? value : [value]).map((entry: unknown) => messageOf(entry))
  return messages.every((message) => message !== null) ? messages : []
}

export function requestText(id: RpcId, method: string, params: JsonObject | undefined): JsonText {
  return jsonText({ jsonrpc: '2.0', id, method, params })
}

export function notificationText({ method, params }: Pick<RpcNotification, 'method' | 'params'>): JsonText {
  return jsonText({ jsonrpc: '2.0', method, params })
}

const told = new WeakMap<RpcNotification, JsonText>()

/** The same for what a server told: written once, however many hear it. */
export function toldText(notification: RpcNotification): JsonText {
  const text = told.get(notification) ?? notificationText(notification)
  told.set(notification, text)
  return text
}

export function answerText(id: RpcId | null, reply: Reply): JsonText {
  return jsonText({ jsonrpc: '2.0', id, ...reply })
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof LargeJson)
}

/** The `_meta` of some parameters; an empty one where there is none. */
export function metaOf(params: JsonObject | undefined): JsonObject {
  const meta = params?.['_meta']
  return isObject(meta) ? meta : {}
}

export function isId(value: unknown): value is RpcId {
  return typeof value === 'string' || typeof value === 'number'
}

function replyOf({ result, error }: JsonObject): Reply | null {
  if (isObject(result)) return { result }
  if (!isObject(error) || typeof error['code'] !== 'number') return null
  const { code, message, data } = error
  return { error: { code, message: typeof message === 'string' ? message : '', ...(data === undefined ? {} : { data }) } }
}

function parsed(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return null
  }
}
