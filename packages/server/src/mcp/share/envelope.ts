/**
 * What each request of 2026-07-28 says of who asks, under `_meta`; before, it was said once for a whole connection.
 *
 * ingress → [mcp] → access → policy → sessions → sandboxes → guest → result
 */
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  SERVER_INFO_META_KEY,
  SUBSCRIPTION_ID_META_KEY,
} from '@modelcontextprotocol/server'
import { isLevel } from './log-levels.ts'
import type { Level } from './log-levels.ts'
import { isObject, metaOf } from './message.ts'
import type { JsonObject } from './message.ts'

export const MODERN_VERSION = '2026-07-28'
export const SERVER_INFO_KEY: string = SERVER_INFO_META_KEY
export const SUBSCRIPTION_ID_KEY: string = SUBSCRIPTION_ID_META_KEY
/** On its way out of the protocol, and in it for now. */
const LOG_LEVEL_KEY = 'io.modelcontextprotocol/logLevel'

/** Who asks. */
export interface Identity {
  readonly info: JsonObject
  readonly capabilities: JsonObject
  /** From which level on it wants to see log lines; `null`: it did not say. */
  readonly level: Level | null
}

export function enveloped(params: JsonObject | undefined, { info, capabilities, level }: Identity): JsonObject {
  const envelope = {
    [PROTOCOL_VERSION_META_KEY]: MODERN_VERSION,
    [CLIENT_INFO_META_KEY]: info,
    [CLIENT_CAPABILITIES_META_KEY]: capabilities,
    ...(level === null ? {} : { [LOG_LEVEL_KEY]: level }),
  }
  return { ...params, _meta: { ...metaOf(params), ...envelope } }
}

/** The other way around: who asked, and what without saying who. */
export function unenveloped(params: JsonObject | undefined): { readonly identity: Identity; readonly params: JsonObject } {
  const { _meta: _, ...plain } = params ?? {}
  const {
    [PROTOCOL_VERSION_META_KEY]: _version,
    [CLIENT_INFO_META_KEY]: info,
    [CLIENT_CAPABILITIES_META_KEY]: capabilities,
    [LOG_LEVEL_KEY]: level,
    ...meta
  } = metaOf(params)
  return {
    identity: {
      info: isObject(info) ? info : {},
      capabilities: isObject(capabilities) ? capabilities : {},
      level: isLevel(level) ? level : null,
    },
    params: Object.keys(meta).length === 0 ? plain : { ...plain, _meta: meta },
  }
}
