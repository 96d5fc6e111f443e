/**
 * A client who works without a pause in one session of its own: commands, files and streams, each checked to the byte.
 */
import { randomBytes } from 'node:crypto'
import { httpClient } from '../../bench/http-client.ts'
import type { HttpClient } from '../../bench/http-client.ts'
import type { ServerProcess } from '../../bench/server-process.ts'

export const DEEDS = ['command', 'output', 'file', 'stream'] as const
export type Deed = (typeof DEEDS)[number]

export interface Witness {
  /** How long a deed took. */
  done(deed: Deed, milliseconds: number): void
  failed(deed: Deed, error: unknown): void
}

/** Out of twenty: mostly short commands. */
const TURN: readonly Deed[] = [...Array.from({ length: 16 }, () => 'command' as const), 'output', 'file', 'file', 'stream']
const OUTPUT_BYTES = 65_536
const FILE_BYTES = 100_000

/** Ends when the signal fires and what is under way is done. */
export async function workIn(server: ServerProcess, sessionId: string, witness: Witness, signal: AbortSignal): Promise<void> {
  const client = httpClient(server)
  try {
    for (let turn = 0; !signal.aborted; turn += 1) {
      const deed = TURN[turn % TURN.length] ?? 'command'
      const startedAt = performance.now()
      try {
        await DO[deed](client, sessionId, turn)
        witness.done(deed, performance.now() - startedAt)
      } catch (error) {
        witness.failed(deed, error)
      }
    }
  } finally {
    client.close()
  }
}

const DO: Readonly<Record<Deed, (client: HttpClient, sessionId: string, turn: number) => Promise<void>>> = {
  async command(client, sessionId, turn) {
    expectText(await run(client, sessionId, `echo turn ${turn}`), `turn ${turn}\n`)
  },
  async output(client, sessionId) {
    expectText(await run(client, sessionId, `head -c ${OUTPUT_BYTES} /dev/zero | tr '\\0' a`), 'a'.repeat(OUTPUT_BYTES))
  },
  async file(client, sessionId, turn) {
    const content = randomBytes(FILE_BYTES).toString('hex')
    const path = `/v1/sessions/${sessionId}/files?path=file-${turn % 3}`
    await client.put(path, content)
    expectText(await client.get(path), content)
  },
  async stream(client, sessionId) {
    await client.untilEvent('/v1/exec', { session_id: sessionId, command: 'echo one; echo two' }, 'exit')
  },
}

async function run(client: HttpClient, sessionId: string, command: string): Promise<string> {
  const result: unknown = JSON.parse(await client.post('/v1/exec', { session_id: sessionId, command }))
  if (result === null || typeof result !== 'object' || !('stdout' in result) || !('exit_code' in result)) throw new Error('no result')
  if (result.exit_code !== 0) throw new Error(`'${command}' ended with ${String(result.exit_code)}`)
  return String(result.stdout)
}

function expectText(actual: string, expected: string): void {
  if (actual !== expected)
    throw new Error(`expected ${expected.length} characters '${expected.slice(0, 40)}', got ${actual.length} '${actual.slice(0, 40)}'`)
}
