/** The first words with a server: how long they may take altogether. */
import { HoldfastError } from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'
import { shakeHands } from './handshake.ts'
import type { HandshakeNeeds } from './handshake.ts'
import { inTime } from './handshake-time.ts'
import type { Reply } from './message.ts'

const SILENCE = null
const UNKNOWN: Reply = { error: { code: -32601, message: 'unknown' } }
const WELCOME: Reply = { result: { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'x', version: '1' } } }

/** What was said, with the time it was given. A server that is silent lets all of it pass; others take a tenth of a second. */
async function greeted(replies: Readonly<Record<string, Reply | null>>, limits: { probeMs: number; handshakeMs: number }) {
  const said: [string, number][] = []
  let now = 0
  const request: HandshakeNeeds['request'] = async (method, _params, timeoutMs) => {
    said.push([method, timeoutMs])
    const reply = replies[method] ?? SILENCE
    now += reply === SILENCE ? timeoutMs : 100
    if (reply === SILENCE) throw new HoldfastError('mcp_request_timed_out', 'silence')
    return reply
  }
  const timed = inTime({ request, limits }, () => now)
  const greeting = shakeHands({ clientInfo: {}, capabilities: {}, firstWord: 'discover', notify: async () => undefined, ...timed })
  const outcome = await greeting.catch((error: unknown) => error)
  return { outcome, said, now }
}

describe('the first words', () => {
  test('of a server that is silent take as long as they may, and no longer', async () => {
    const { outcome, now } = await greeted({}, { probeMs: 3_000, handshakeMs: 10_000 })
    expect(outcome).toMatchObject({ code: 'mcp_init_failed', message: expect.stringContaining('within 10 seconds') as string })
    expect(now).toBe(10_000)
    expect((await greeted({}, { probeMs: 3_000, handshakeMs: 1_000 })).now).toBe(1_000)
  })

  test('of a server that knows only the second greeting leave it what the first did not take', async () => {
    const limits = { probeMs: 3_000, handshakeMs: 10_000 }
    const answering = await greeted({ 'server/discover': UNKNOWN, initialize: WELCOME }, limits)
    expect(answering.outcome).toMatchObject({ era: 'legacy', protocolVersion: '2025-11-25' })
    expect(answering.said).toEqual([
      ['server/discover', 3_000],
      ['initialize', 9_900],
    ])
    const silent = await greeted({ initialize: WELCOME }, limits)
    expect(silent.said.at(-1)).toEqual(['initialize', 7_000])
  })
})
