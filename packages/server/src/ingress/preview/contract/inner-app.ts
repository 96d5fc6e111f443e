/**
 * Apps in sandboxes of a running server, and requests to them as programs and browsers send them.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { request } from 'node:http'
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { PreviewView } from '@holdfast/protocol'
import { WebSocket } from 'ws'
import type { RealServer } from '../../rest/contract/real-server.ts'
import { SAMPLE_APP } from './sample-app.ts'

export interface Asking {
  readonly method?: string
  readonly headers?: OutgoingHttpHeaders
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array>
  readonly signal?: AbortSignal
}

export interface Told {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
  /** What the app says it was asked. */
  readonly echo: {
    readonly method: string
    readonly path: string
    readonly headers: [string, string][]
    readonly size: number
    readonly sha256: string
  }
}

/** Starts the app in a session and waits until it listens. */
export async function startApp(real: RealServer, sessionId: string, port: number, key = real.adminKey): Promise<void> {
  const put = await real.request(`/v1/sessions/${sessionId}/files?path=/workspace/app.py`, { method: 'PUT', body: SAMPLE_APP, key })
  if (!put.ok) throw new Error(await put.text())
  const command = `exec python3 app.py ${port} > app-${port}.log 2>&1`
  const body = JSON.stringify({ name: `app-${port}`, command, cwd: '/workspace' })
  const started = await real.request(`/v1/sessions/${sessionId}/processes`, { method: 'POST', body, key })
  if (!started.ok) throw new Error(await started.text())
  await real.sh(sessionId, `cd /workspace && timeout 120 sh -c 'until grep -q ready app-${port}.log; do sleep 0.02; done'`, key)
}

/** Where a server listens. */
export interface Listening {
  readonly server: { readonly url: string }
}

export async function linkTo(real: RealServer, sessionId: string, port: number, wish: object = {}, key = real.adminKey) {
  const answer = await real.request(`/v1/sessions/${sessionId}/previews`, { method: 'POST', body: JSON.stringify({ port, ...wish }), key })
  if (answer.status !== 201) throw new Error(await answer.text())
  return PreviewView.parse(await answer.json())
}

/** As a browser sends it, which looks no name below localhost up. */
export function open(
  real: Listening,
  address: string,
  { method = 'GET', headers = {}, body, signal }: Asking = {},
): Promise<IncomingMessage> {
  const { host, pathname, search } = new URL(address, real.server.url)
  const { hostname, port } = new URL(real.server.url)
  return new Promise((resolve, reject) => {
    const asked = request({
      hostname,
      port,
      method,
      path: `${pathname}${search}`,
      headers: { host, ...headers },
      agent: false,
      ...(signal ? { signal } : {}),
    })
    asked.on('response', resolve).on('error', reject)
    if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) asked.end(body)
    else void send(asked, body)
  })
}

async function send(asked: NodeJS.WritableStream, body: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const piece of body) if (!asked.write(piece)) await new Promise((resolve) => asked.once('drain', resolve))
  asked.end()
}

export async function ask(real: RealServer, address: string, asking: Asking = {}): Promise<Told> {
  const response = await open(real, address, asking)
  const text = (await buffer(response)).toString()
  const { statusCode = 0, headers } = response
  return {
    ...{ status: statusCode, headers, text },
    get echo() {
      return JSON.parse(text) as Told['echo']
    },
  }
}

/** Resolves with an open socket and the headers that the app says it was asked with. */
export function openSocket(real: RealServer, address: string, headers: Record<string, string> = {}, protocols: string[] = []) {
  const { host, pathname, search } = new URL(address, real.server.url)
  const at = new URL(real.server.url)
  const socket = new WebSocket(`ws://${at.host}${pathname}${search}`, protocols, { headers: { host, ...headers } })
  return new Promise<{ readonly socket: WebSocket; readonly headers: [string, string][] }>((resolve, reject) => {
    socket.once('message', (told: Buffer) => resolve({ socket, headers: JSON.parse(told.toString()) as [string, string][] }))
    socket.once('error', reject)
    socket.once('unexpected-response', (_request, response) => reject(new Error(`refused with ${response.statusCode}`)))
  })
}
