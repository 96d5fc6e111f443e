/**
 * `preview`: a link to the app that the model has started, and what that answers now.
 *
 * ingress → [tools] → access → policy → sessions → sandboxes → guest → result
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { requestOver } from '../sessions/http-over-port.ts'
import type { SessionPorts } from '../sessions/session-ports.ts'
import { firstCharacters } from './clipped-text.ts'
import type { Tool } from './tool.ts'
import { ToolFailure } from './tool-failure.ts'

/** Of text, whose characters have up to four. */
const MAX_TEXT_CHARACTERS = 4_000
const MAX_TEXT_BYTES = MAX_TEXT_CHARACTERS * 4
const PATIENCE_MS = 10_000
const TEXT = /^(?:text\/|application\/(?:[\w.-]+\+)?(?:json|xml|javascript|x-javascript)\b|image\/svg)/i

interface Answer {
  readonly status: number
  readonly contentType: string | null
  readonly text: string | null
  readonly isTruncated: boolean
}

export function previewTool(ports: SessionPorts, patienceMs = PATIENCE_MS): Tool<'preview'> {
  return {
    name: 'preview',
    description:
      'Show a web app that you have started in your sandbox: gives a link for the person you work for, and what the app answers to GET now. ' +
      'Start the app first, in the background, on 127.0.0.1 or 0.0.0.0; no network is needed.',
    async run({ caller, session, signal, previewLink }, { port, path }) {
      const connection = await ports.connect(caller, session.id, port, signal)
      const { status, contentType, text, isTruncated } = await ask(connection, port, path, patienceMs, signal)
      const { url, expires_at } = await previewLink(port)
      return {
        ok: true,
        // Put behind it, not resolved: a path can look like the name of another host.
        url: `${url.replace(/\/$/, '')}${path}`,
        expires_at,
        ...{ status, content_type: contentType, text, truncated: isTruncated },
      }
    },
  }
}

/** What came of it before the patience was over. */
async function ask(connection: Duplex, port: number, path: string, patienceMs: number, signal: AbortSignal): Promise<Answer> {
  const over = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)])
  const end = () => connection.destroy()
  over.addEventListener('abort', end, { once: true })
  const headers = { host: `localhost:${port}`, accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'holdfast-preview' }
  try {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const request = requestOver(connection, { method: 'GET', path, headers })
    request.on('response', resolve).on('error', reject).on('close', reject).end()
    const response = await promise
    const contentType = response.headers['content-type'] ?? null
    const isText = contentType === null || TEXT.test(contentType)
    const read = isText ? await beginningOf(response) : { text: null, isTruncated: true }
    return { status: response.statusCode ?? 0, contentType, ...read }
  } catch (cause) {
    signal.throwIfAborted()
    const words = over.aborted
      ? `the app on port ${port} took the connection and did not answer within ${patienceMs / 1000} seconds`
      : `the app on port ${port} closed the connection without an answer of HTTP; look at what it printed`
    throw new ToolFailure(words, { cause })
  } finally {
    over.removeEventListener('abort', end)
    connection.destroy()
  }
}

/** An answer that breaks off, or has no end, is told as far as it came. */
async function beginningOf(response: IncomingMessage): Promise<Pick<Answer, 'text' | 'isTruncated'>> {
  const pieces: Buffer[] = []
  let size = 0
  try {
    for await (const piece of response as AsyncIterable<Buffer>) {
      pieces.push(piece)
      size += piece.length
      if (size > MAX_TEXT_BYTES) break
    }
  } catch {
    // Decision: what there is says more than that it broke off, which `truncated` says too.
  }
  const whole = new TextDecoder().decode(Buffer.concat(pieces).subarray(0, MAX_TEXT_BYTES))
  const text = firstCharacters(whole, MAX_TEXT_CHARACTERS)
  return { text, isTruncated: !response.complete || size > MAX_TEXT_BYTES || text.length < whole.length }
}
