/**
 * An answer that is no success → the error that is thrown.
 *
 * Holdfast sends problem documents. What stands between may send anything, so everything else is read with care and cut short.
 */
import { HoldfastError } from '../errors.ts'
import type { RetryAdvice } from '../errors.ts'

/** A gateway says so when it does not reach what is behind it. */
const GATEWAY = [502, 503, 504]
const SHOWN_CHARACTERS = 200
/** A problem document has no more. */
const READ_BYTES = 256 * 1024

export async function problemOf(response: Response, url: string): Promise<HoldfastError> {
  const text = await beginningOf(response).catch(() => '')
  const problem = parsed(text)
  if (problem !== null) return errorOf(problem, response.status, retryAfterOf(response))
  const { status } = response
  if (GATEWAY.includes(status))
    return new HoldfastError({
      ...{ code: 'server_unreachable', message: `${url} answered ${status}, and not Holdfast but something before it`, status },
      ...{ retry: 'after-delay', hint: 'Start the server, or see why the gateway does not reach it.' },
    })
  return new HoldfastError({
    ...{ code: 'invalid_answer', message: `${url} answered ${status} without a problem document: ${shown(text)}`, status },
    hint: 'Check the address: this does not look like a Holdfast server.',
  })
}

async function beginningOf(response: Response): Promise<string> {
  if (response.body === null) return ''
  const reader: ReadableStreamDefaultReader<Uint8Array> = response.body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  try {
    while (text.length < READ_BYTES) {
      const { done, value } = await reader.read()
      if (done) break
      text += decoder.decode(value, { stream: true })
    }
    return text
  } finally {
    reader.cancel().catch(() => undefined)
  }
}

/** A problem document that arrived inside a stream. */
export function errorOfEvent(data: string): HoldfastError {
  const problem = parsed(data)
  if (problem !== null) return errorOfProblem(problem)
  return new HoldfastError({ code: 'invalid_answer', message: `the stream told an error that cannot be read: ${shown(data)}` })
}

export function errorOfProblem(problem: Readonly<Record<string, unknown>>): HoldfastError {
  return errorOf(problem, typeof problem['status'] === 'number' ? problem['status'] : 0, null)
}

function errorOf(problem: Readonly<Record<string, unknown>>, status: number, retryAfterMs: number | null): HoldfastError {
  const text = (name: string) => (typeof problem[name] === 'string' ? problem[name] : '')
  const error = new HoldfastError({
    code: text('code'),
    message: text('title'),
    status,
    retry: adviceOf(problem['retry']),
    hint: text('hint'),
    details: isRecord(problem['details']) ? problem['details'] : {},
    requestId: text('request_id') || null,
  })
  if (retryAfterMs !== null) RETRY_AFTER.set(error, retryAfterMs)
  return error
}

/** Beside the error and not in it: of interest only to whoever retries here. */
const RETRY_AFTER = new WeakMap<HoldfastError, number>()

/** How long the server asks to wait. */
export function retryAfterMsOf(error: HoldfastError): number {
  return RETRY_AFTER.get(error) ?? 0
}

function retryAfterOf(response: Response): number | null {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : null
}

function adviceOf(retry: unknown): RetryAdvice {
  return retry === 'after-delay' || retry === 'after-change' ? retry : 'never'
}

function parsed(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) && typeof value['code'] === 'string' ? value : null
  } catch {
    return null
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function shown(text: string): string {
  return text === '' ? 'nothing' : JSON.stringify(text.slice(0, SHOWN_CHARACTERS))
}
