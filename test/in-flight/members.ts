/**
 * The members who send all that they can, each of one kind, in a process of their own: arguments are the port and a key for each; they leave at the
 * end of stdin.
 */
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { constants, setPriority } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'

const [port = '', mcpKey = '', restKey = '', fieldsKey = ''] = process.argv.slice(2)
const MB = 1_000_000
const HALF_OPEN = 2_000
const leaving = new AbortController()
const statuses = new Map<string, number>()
const count = (what: string) => void statuses.set(what, (statuses.get(what) ?? 0) + 1)

// Callers have processors of their own; here they would take the server's.
setPriority(constants.priority.PRIORITY_LOW)
process.stdin.resume()
process.stdin.on('end', () => leaving.abort())

interface Sent {
  readonly what: string
  readonly key: string
  readonly path: string
  readonly body: Buffer
  readonly headers?: Readonly<Record<string, string>>
}

async function send({ what, key, path, body, headers = {} }: Sent): Promise<Response | null> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', accept: 'application/json', ...headers },
      body,
      signal: leaving.signal,
    })
    await response.arrayBuffer()
    count(`${what}: ${response.status}`)
    return response
  } catch {
    count(`${what}: ${leaving.signal.aborted ? 'open until the end' : 'cut off'}`)
    return null
  }
}

/** `{}` is the heaviest for its text. */
const heavy = (bytes: number) => `{"a":[${'{},'.repeat(Math.floor(bytes / 3))}{}]}`
const fields = (many: number) => Buffer.from(`{${Array.from({ length: many }, (_, at) => `"${at.toString(36)}":0`).join(',')}}`)

async function mcpCalls(): Promise<void> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'member', version: '1' } }
  const path = '/mcp/mute?session=attack'
  const initialize = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }))
  const begun = await send({ what: 'initialize', key: mcpKey, path, body: initialize })
  const session = { 'mcp-session-id': begun?.headers.get('mcp-session-id') ?? '' }
  const text = heavy(15 * MB)
  const call = async (id: number) => {
    const body = Buffer.from(`{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"wait","arguments":${text}}}`)
    while (!leaving.signal.aborted) {
      await send({ what: 'MCP call of 15 MB', key: mcpKey, path, body, headers: session })
      await delay(1_000)
    }
  }
  await Promise.all(Array.from({ length: 40 }, (_, at) => call(at + 1)))
}

async function restCalls(): Promise<void> {
  const body = Buffer.from(`{"session":"attack","arguments":{"text":"${'x'.repeat(1.9 * MB)}","list":[${'1,'.repeat(40_000)}1]}}`)
  const call = async () => {
    while (!leaving.signal.aborted) {
      await send({ what: 'REST tool call of 2 MB', key: restKey, path: '/v1/mcp/servers/mute/tools/wait', body })
      await delay(1_000)
    }
  }
  await Promise.all(Array.from({ length: 200 }, call))
}

async function manyFields(): Promise<void> {
  const bodies = [fields(150_000), Buffer.from(`{"session":"attack","command":"true","env":${fields(150_000).toString()}}`)]
  while (!leaving.signal.aborted) for (const body of bodies) await send({ what: '150,000 fields', key: fieldsKey, path: '/v1/exec', body })
}

async function halfOpen(): Promise<void> {
  const sockets = new Set<Socket>()
  while (!leaving.signal.aborted) {
    for (let at = 0; at < 100 && sockets.size < HALF_OPEN; at += 1) {
      const socket = connect(Number(port), '127.0.0.1')
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        if (!leaving.signal.aborted) count('half-open connection: closed by the server')
      })
      socket.write('GET / HTTP/1.1\r\nHo')
    }
    await delay(50)
  }
  for (const socket of sockets) socket.destroy()
}

await Promise.all([mcpCalls(), restCalls(), manyFields(), halfOpen()].map((each) => each.catch(() => undefined)))
for (const [what, times] of statuses) process.stdout.write(`  ${what}: ${times}\n`)
