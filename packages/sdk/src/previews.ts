/**
 * Links by which browsers reach web apps inside a session, without a key.
 */
import type { PreviewView } from '@holdfast/protocol'
import { callOf } from './call-options.ts'
import type { CallOptions } from './call-options.ts'
import type { Transport } from './transport/transport.ts'
import { camel, snake } from './wire-names.ts'

export interface Preview {
  /** Whoever has it may use the app until it ends. */
  readonly url: string
  readonly port: number
  readonly expiresAt: string
}

export interface PreviewOptions extends CallOptions {
  /** An hour unless given, a day at most. */
  readonly ttlSeconds?: number | undefined
}

export async function makePreview(
  transport: Transport,
  sessionId: string,
  port: number,
  { ttlSeconds, ...options }: PreviewOptions,
): Promise<Preview> {
  const json = snake({ port, ttlSeconds })
  return camel(await transport.json<PreviewView>({ method: 'POST', path: `/v1/sessions/${sessionId}/previews`, json, ...callOf(options) }))
}
