/**
 * Clients that behave badly, over and over while others work: what they leave behind must be nothing.
 *
 * Each of them does its worst once and resolves when its side of the connection is gone.
 */
import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { WebSocket } from 'ws'
import type { ServerProcess } from '../../bench/server-process.ts'
import { asking, quiet, uploading } from './raw-connection.ts'

export interface RudeClient {
  readonly name: string
  misbehave(server: ServerProcess, sessionId: string, signal: AbortSignal): Promise<void>
}

const MEBIBYTE = 1024 * 1024
/** How long a slow one stays. */
const SLOW_SECONDS = 12
const SILENT_MS = 6_000
/** About as long as a command takes to start. */
const EARLY_MS = [0, 5, 10, 20, 40]
/** Prints more than all buffers on the way hold, and then never ends by itself. */
const ENDLESS = "head -c 20000000 /dev/zero | tr '\\0' a; sleep 3600"

export const RUDE_CLIENTS: readonly RudeClient[] = [
  {
    name: 'reads a byte a second of what a command prints',
    async misbehave(server, sessionId, signal) {
      const socket = await asking(
        server,
        'POST',
        '/v1/exec',
        { accept: 'text/event-stream' },
        { session_id: sessionId, command: ENDLESS, timeout_ms: 600_000 },
      )
      await readSlowly(socket, signal)
    },
  },
  {
    name: 'reads a byte a second of what an execution printed',
    async misbehave(server, sessionId, signal) {
      const id = await startExecution(server, sessionId, 'yes | head -c 3000000')
      const socket = await asking(server, 'GET', `/v1/sessions/${sessionId}/executions/${id}/output`, { accept: 'text/event-stream' })
      await readSlowly(socket, signal)
    },
  },
  {
    name: 'asks for a stream and vanishes before it begins',
    async misbehave(server, sessionId) {
      const body = { session_id: sessionId, command: ENDLESS, timeout_ms: 600_000 }
      const sockets = await Promise.all(EARLY_MS.map(() => asking(server, 'POST', '/v1/exec', { accept: 'text/event-stream' }, body)))
      await Promise.all(EARLY_MS.map((ms, index) => delay(ms).then(() => sockets[index]?.destroy())))
    },
  },
  {
    name: 'vanishes while a command prints',
    async misbehave(server, sessionId) {
      const socket = await asking(
        server,
        'POST',
        '/v1/exec',
        { accept: 'text/event-stream' },
        { session_id: sessionId, command: ENDLESS, timeout_ms: 600_000 },
      )
      await gone(socket, 'data')
    },
  },
  {
    name: 'vanishes while a command runs in silence',
    async misbehave(server, sessionId) {
      const socket = await asking(server, 'POST', '/v1/exec', {}, { session_id: sessionId, command: 'sleep 600', timeout_ms: 3_600_000 })
      await delay(200)
      socket.destroy()
    },
  },
  {
    name: 'vanishes while a session is made',
    async misbehave(server, sessionId) {
      const socket = await asking(
        server,
        'POST',
        '/v1/sessions',
        {},
        { key: `gone-${sessionId}-${Date.now()}`, wait_ms: 20_000, times: { on_idle: 'release', idle_seconds: 2 } },
      )
      await delay(5)
      socket.destroy()
    },
  },
  {
    name: 'closes its half and waits',
    async misbehave(server, sessionId) {
      const socket = await asking(server, 'POST', '/v1/exec', {}, { session_id: sessionId, command: 'sleep 0.2; echo late' })
      socket.end()
      socket.resume()
      await Promise.race([once(socket, 'close'), delay(5_000)])
      socket.destroy()
    },
  },
  {
    name: 'closes its half of a stream and waits',
    async misbehave(server, sessionId) {
      const socket = await asking(server, 'GET', `/v1/sessions/${sessionId}/events`, { accept: 'text/event-stream' })
      socket.end()
      socket.resume()
      await Promise.race([once(socket, 'close'), delay(3_000)])
      socket.destroy()
    },
  },
  {
    name: 'breaks an upload off',
    async misbehave(server, sessionId) {
      const socket = await uploading(server, `/v1/sessions/${sessionId}/files?path=never-whole`, 50 * MEBIBYTE)
      socket.write(Buffer.alloc(MEBIBYTE))
      await delay(50)
      socket.destroy()
    },
  },
  {
    name: 'breaks an upload of an archive off',
    async misbehave(server, sessionId) {
      const socket = await uploading(server, `/v1/sessions/${sessionId}/files/archive?path=never-unpacked`, 50 * MEBIBYTE)
      socket.write(Buffer.alloc(512))
      await delay(50)
      socket.destroy()
    },
  },
  {
    name: 'stops sending within an upload',
    async misbehave(server, sessionId, signal) {
      const socket = await uploading(server, `/v1/sessions/${sessionId}/files?path=never-whole`, MEBIBYTE)
      socket.write(Buffer.alloc(1024))
      await delay(SILENT_MS, undefined, { signal }).catch(() => undefined)
      socket.destroy()
    },
  },
  {
    name: 'leaves a download after its beginning',
    async misbehave(server, sessionId) {
      const socket = await asking(server, 'GET', `/v1/sessions/${sessionId}/files?path=/large`, {})
      await gone(socket, 'data')
    },
  },
  {
    name: 'leaves an archive after its beginning',
    async misbehave(server, sessionId) {
      const socket = await asking(server, 'GET', `/v1/sessions/${sessionId}/files/archive?path=/usr/lib`, {})
      await gone(socket, 'data')
    },
  },
  {
    name: 'leaves a watch',
    async misbehave(server, sessionId) {
      const socket = await asking(server, 'GET', `/v1/sessions/${sessionId}/files/watch?path=/workspace`, { accept: 'text/event-stream' })
      await gone(socket, 'data')
    },
  },
  {
    name: 'connects and says nothing',
    async misbehave({ port }, _sessionId, signal) {
      const sockets = Array.from({ length: 10 }, () => quiet(connect(port, '127.0.0.1')))
      await delay(SILENT_MS, undefined, { signal }).catch(() => undefined)
      for (const socket of sockets) socket.destroy()
    },
  },
  {
    name: 'says half of its headers',
    async misbehave({ port, key }, _sessionId, signal) {
      const socket = quiet(connect(port, '127.0.0.1'))
      socket.write(`POST /v1/exec HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\nContent-Le`)
      await delay(SILENT_MS, undefined, { signal }).catch(() => undefined)
      socket.destroy()
    },
  },
  {
    name: 'lets a terminal go without a word',
    async misbehave(server, sessionId) {
      const socket = openTerminal(server, sessionId)
      await once(socket, 'message')
      socket.send(Buffer.from(`${ENDLESS}\n`))
      await delay(300)
      socket.terminate()
    },
  },
  {
    name: 'opens a terminal and reads nothing',
    async misbehave(server, sessionId, signal) {
      const socket = openTerminal(server, sessionId)
      await once(socket, 'message')
      socket.send(Buffer.from(`${ENDLESS}\n`))
      socket.pause()
      await delay(SILENT_MS, undefined, { signal }).catch(() => undefined)
      socket.terminate()
    },
  },
]

/** What the rude ones find in their session. */
export const RUDE_GROUND = 'head -c 30000000 /dev/zero > large'

/** Leaves at the first sign of an answer. */
async function gone(socket: Socket, sign: 'data'): Promise<void> {
  await Promise.race([once(socket, sign), delay(5_000)])
  socket.destroy()
}

async function readSlowly(socket: Socket, signal: AbortSignal): Promise<void> {
  socket.pause()
  for (let second = 0; second < SLOW_SECONDS && !signal.aborted; second += 1) {
    socket.read(1)
    await delay(1_000, undefined, { signal }).catch(() => undefined)
  }
  socket.destroy()
}

async function startExecution({ port, key }: ServerProcess, sessionId: string, command: string): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/sessions/${sessionId}/executions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ command }),
  })
  const answer: unknown = await response.json()
  if (answer === null || typeof answer !== 'object' || !('execution_id' in answer))
    throw new Error(`not started: ${JSON.stringify(answer)}`)
  return String(answer.execution_id)
}

function openTerminal({ port, key }: ServerProcess, sessionId: string): WebSocket {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/v1/sessions/${sessionId}/terminal`, 'holdfast.terminal.v1', {
    headers: { authorization: `Bearer ${key}` },
  })
  socket.on('error', () => undefined)
  return socket
}
