/**
 * Watching a directory: events as an async iterable that ends when its loop is left.
 *
 * ingress → access → policy → sessions → sandboxes → [guest] → result
 *
 * A slow reader is back-pressure on the applet, whose kernel queue then overflows and says so; memory here stays bounded.
 */
import { openApplet } from './applet.ts'
import type { AppletRun } from './applet.ts'
import type { Channel } from './channel.ts'
import type { Files, WatchEvent } from './inside.ts'
import type { OutputConsumer } from './output-reader.ts'
import { RecordParser } from './records.ts'
import { requireAbsolute } from './require.ts'
import { violated } from './violation.ts'

const MAX_KEPT_EVENTS = 1_024
const EVENT_TYPES: Readonly<Record<string, WatchEvent['type']>> = {
  create: 'create',
  write: 'write',
  remove: 'remove',
  rename: 'rename',
  chmod: 'chmod',
  overflow: 'overflow',
}

export function watchFiles(
  channel: Channel,
  path: string,
  options: Parameters<Files['watch']>[1] = {},
): Promise<AsyncIterable<WatchEvent>> {
  return new Promise((resolve, reject) => {
    requireAbsolute('path', path)
    options.signal?.throwIfAborted()
    const run = openApplet(channel, { argv: ['watch', path, options.recursive ? 'r' : ''], path, uid: options.uid })
    const events = new WatchEvents(run, options.signal, resolve, reject)
    run.stream.output.consume(events)
  })
}

interface Waiter {
  readonly resolve: (result: IteratorResult<WatchEvent, undefined>) => void
  readonly reject: (error: unknown) => void
}

class WatchEvents implements AsyncIterableIterator<WatchEvent, undefined>, OutputConsumer {
  readonly keepsBytes = false
  readonly #run: AppletRun
  readonly #signal: AbortSignal | undefined
  readonly #onReady: (events: WatchEvents) => void
  readonly #onFailed: (error: unknown) => void
  readonly #abort = (): void => this.#end(this.#signal?.reason)
  readonly #parser = new RecordParser(2, (strings) => this.#record(strings))
  #isReady = false
  #events: WatchEvent[] = []
  readonly #waiters: Waiter[] = []
  #ending: { readonly error: unknown } | null = null

  constructor(run: AppletRun, signal: AbortSignal | undefined, onReady: (events: WatchEvents) => void, onFailed: (error: unknown) => void) {
    this.#run = run
    this.#signal = signal
    this.#onReady = onReady
    this.#onFailed = onFailed
    signal?.addEventListener('abort', this.#abort, { once: true })
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<WatchEvent, undefined>> {
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject })
      this.#serve()
      if (this.#events.length < MAX_KEPT_EVENTS) this.#run.stream.output.resume()
    })
  }

  return(): Promise<IteratorResult<WatchEvent, undefined>> {
    this.#events = []
    this.#end(undefined)
    return Promise.resolve({ done: true, value: undefined })
  }

  chunk(outputChannel: 1 | 2, bytes: Buffer): boolean {
    if (outputChannel === 2) this.#run.hear(bytes)
    else
      try {
        this.#parser.push(bytes)
      } catch (error) {
        this.#end(error)
      }
    this.#serve()
    return this.#events.length < MAX_KEPT_EVENTS
  }

  finished(): void {
    this.#end(this.#run.failure() ?? violated('the watch ended by itself'))
  }

  #record([type = '', path = '']: readonly string[]): void {
    if (!this.#isReady) {
      if (type !== 'ready') throw violated('a watch began without saying that it is ready')
      this.#isReady = true
      this.#onReady(this)
      return
    }
    const known = EVENT_TYPES[type]
    if (!known) throw violated('a watch printed an unknown event')
    this.#events.push({ type: known, path })
  }

  /** What happened before the end is still to be read. */
  #end(error: unknown): void {
    if (this.#ending) return
    this.#ending = { error }
    this.#signal?.removeEventListener('abort', this.#abort)
    this.#onFailed(error)
    this.#run.stream.detach()
    this.#serve()
  }

  #serve(): void {
    while (this.#waiters.length > 0 && (this.#events.length > 0 || this.#ending)) {
      const waiter = this.#waiters.shift()
      const event = this.#events.shift()
      if (event) waiter?.resolve({ done: false, value: event })
      else if (this.#ending?.error === undefined) waiter?.resolve({ done: true, value: undefined })
      else waiter?.reject(this.#ending.error)
    }
  }
}
