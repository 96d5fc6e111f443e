/**
 * One attempt to hand over one event: a POST whose answer's status is all that counts.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * The receiver is not trusted: no redirect is followed, no byte of its answer's body is read, and it has a bounded time for all of it.
 */
import { request as requestHttp } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { TargetGuard } from './target-guard.ts'

export interface Delivery {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly guard: TargetGuard
  readonly timeoutMs: number
}

/** `null` when the receiver took it, else a sentence that says why not. */
export async function deliver({ url, headers, body, guard, timeoutMs }: Delivery, signal: AbortSignal): Promise<string | null> {
  try {
    const target = guard.check(url)
    const send = target.protocol === 'https:' ? requestHttps : requestHttp
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const request = send(target, {
        method: 'POST',
        // A connection of its own: one that is kept could lead to an address that was judged for another name.
        agent: false,
        lookup: guard.lookup,
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
        headers: { ...headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), 'user-agent': 'holdfast' },
      })
      request.on('response', resolve)
      // Stays for the whole life of the request: ending it below may make one more error.
      request.on('error', reject)
      request.end(body)
    })
    response.on('error', () => {})
    response.destroy()
    const status = response.statusCode ?? 0
    return status >= 200 && status < 300 ? null : `the receiver answered with status ${status}`
  } catch (error) {
    if (!(error instanceof Error)) throw error
    return error.name === 'AbortError' ? `no answer within ${timeoutMs} ms` : error.message
  }
}
