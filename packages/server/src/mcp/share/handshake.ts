/**
 * The first words with a server: what it speaks, what it can do, who it is. Said once, and remembered for all its clients.
 *
 * ingress → [mcp] → access → policy → sessions → sandboxes → guest → result
 *
 * A server of 2026-07-28 answers `server/discover`; one of before does not know it, and is greeted with `initialize`. Some of before never
 * answer what they do not know, so silence means that too. But one that was only slow to start may have settled on the first word by then,
 * and refuses the other: then it is asked again.
 */
import { HoldfastError } from '@holdfast/protocol'
import { LATEST_PROTOCOL_VERSION, SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/server'
import { enveloped, MODERN_VERSION, SERVER_INFO_KEY } from './envelope.ts'
import { LargeJson } from './large-json.ts'
import { isObject, metaOf } from './message.ts'
import type { JsonObject, Reply } from './message.ts'
import type { ShareLimits } from './limits.ts'

export type Era = 'legacy' | 'modern'

/** Can be kept and given to `shareServer` again, for a process that has been greeted already. */
export interface Handshake {
  readonly era: Era
  readonly protocolVersion: string
  readonly capabilities: JsonObject
  readonly serverInfo: JsonObject
  readonly instructions?: string
}

export interface HandshakeNeeds {
  readonly clientInfo: JsonObject
  readonly capabilities: JsonObject
  readonly limits: Pick<ShareLimits, 'probeMs' | 'handshakeMs'>
  /** Some servers of before end at any other first word than `initialize`. */
  readonly firstWord: 'discover' | 'initialize'
  request(method: string, params: JsonObject, timeoutMs: number): Promise<Reply>
  notify(method: string): Promise<void>
}

/** Rejects with `mcp_init_failed`, or with what ended the server meanwhile. */
export async function shakeHands({ request, ...needs }: HandshakeNeeds): Promise<Handshake> {
  const small = async (...asked: Parameters<typeof request>) => {
    const reply = await request(...asked)
    if ('result' in reply && Object.values(reply.result).some((value) => value instanceof LargeJson)) throw tooMuch()
    return reply
  }
  const handshake = await greeted({ ...needs, request: small })
  if (JSON.stringify(handshake).length > MAXIMUM_CHARACTERS) throw tooMuch()
  return handshake
}

function tooMuch(): HoldfastError {
  return failed(`what it says of itself is above ${MAXIMUM_CHARACTERS} characters`)
}

/** It is remembered, stored, and told to each client. */
const MAXIMUM_CHARACTERS = 262_144

async function greeted(needs: HandshakeNeeds): Promise<Handshake> {
  const { firstWord, limits } = needs
  const told = firstWord === 'discover' ? await discover(needs, limits.probeMs) : null
  if (told !== null && told !== 'silent') return told
  const reply = await greet(needs)
  const late = told === 'silent' && 'error' in reply ? await discover(needs, limits.handshakeMs) : null
  return late === null || late === 'silent' ? initialized(needs, reply) : late
}

/** `null`: it speaks as before. */
async function discover({ request, clientInfo, capabilities }: HandshakeNeeds, timeoutMs: number): Promise<Handshake | 'silent' | null> {
  const asked = enveloped({}, { info: clientInfo, capabilities, level: null })
  const reply = await request('server/discover', asked, timeoutMs).catch(unlessTimedOut)
  if (reply === null) return 'silent'
  if ('error' in reply) return null
  const { supportedVersions, capabilities: offered, instructions } = reply.result
  if (!Array.isArray(supportedVersions) || !supportedVersions.includes(MODERN_VERSION) || !isObject(offered)) return null
  const serverInfo = metaOf(reply.result)[SERVER_INFO_KEY]
  return {
    era: 'modern',
    protocolVersion: MODERN_VERSION,
    capabilities: offered,
    serverInfo: isObject(serverInfo) ? serverInfo : UNNAMED,
    ...(typeof instructions === 'string' ? { instructions } : {}),
  }
}

const UNNAMED = { name: 'unnamed', version: '0' }

async function greet({ request, clientInfo, capabilities, limits }: HandshakeNeeds): Promise<Reply> {
  const params = { protocolVersion: LATEST_PROTOCOL_VERSION, capabilities, clientInfo }
  return request('initialize', params, limits.handshakeMs).catch((error: unknown) => {
    unlessTimedOut(error)
    throw failed(`it did not answer initialize within ${limits.handshakeMs / 1000} seconds`, error)
  })
}

async function initialized({ notify }: HandshakeNeeds, reply: Reply): Promise<Handshake> {
  if ('error' in reply) throw failed(`it refused initialize: ${reply.error.message.slice(0, 500)}`)
  const { protocolVersion, capabilities: offered, serverInfo, instructions } = reply.result
  if (typeof protocolVersion !== 'string' || !SUPPORTED_PROTOCOL_VERSIONS.includes(protocolVersion))
    throw failed(
      `it speaks revision ${JSON.stringify(protocolVersion)?.slice(0, 50)}, which is none of ${SUPPORTED_PROTOCOL_VERSIONS.join(', ')}`,
    )
  await notify('notifications/initialized')
  return {
    era: 'legacy',
    protocolVersion,
    capabilities: isObject(offered) ? offered : {},
    serverInfo: isObject(serverInfo) ? serverInfo : UNNAMED,
    ...(typeof instructions === 'string' ? { instructions } : {}),
  }
}

function unlessTimedOut(error: unknown): null {
  if (error instanceof HoldfastError && error.code === 'mcp_request_timed_out') return null
  throw error
}

function failed(reason: string, cause?: unknown): HoldfastError {
  return new HoldfastError('mcp_init_failed', `the MCP server did not start to speak: ${reason}`, { phase: 'mcp_init' }, { cause })
}
