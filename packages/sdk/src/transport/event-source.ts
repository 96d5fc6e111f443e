/**
 * Server-sent events out of a response body, one after the other.
 *
 * Only whole events are given: one that is cut off by the end of the stream never was. A stream that stays silent for longer than the
 * server ever is counts as broken.
 */
import { HoldfastError } from '../errors.ts'

export interface ServerEvent {
  readonly event: string
  readonly data: string
  /** `null` where it has none. */
  readonly id: string | null
}

/** The server says something every 15 seconds. */
export const SILENCE_MS = 45_000
/** No event of Holdfast's comes near. */
const LONGEST_EVENT = 32 * 1024 * 1024

/** `broken` gives the error for a connection that failed. */
export async function* serverEvents(
  body: ReadableStream<Uint8Array>,
  broken: (cause: unknown) => Error,
  silenceMs = SILENCE_MS,
): AsyncGenerator<ServerEvent, void, void> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let pending = ''
  try {
    for (;;) {
      const { done, value } = await withinSilence(reader, silenceMs).catch((cause: unknown) => {
        throw broken(cause)
      })
      if (done) return
      pending += decoder.decode(value, { stream: true })
      // Lines may end in CRLF; a CR at the end waits for what follows it.
      const blocks = pending.split(/\r?\n\r?\n/)
      pending = blocks.pop() ?? ''
      if (pending.length > LONGEST_EVENT)
        throw new HoldfastError({ code: 'invalid_answer', message: 'the stream sent an event without an end' })
      for (const block of blocks) {
        const event = eventOf(block)
        if (event !== null) yield event
      }
    }
  } finally {
    // Not awaited: a connection that is dead does not answer this either.
    reader.cancel().catch(() => undefined)
  }
}

async function withinSilence(reader: ReadableStreamDefaultReader<Uint8Array>, silenceMs: number) {
  let timer: ReturnType<typeof setTimeout> | undefined
  const silence = new Promise<never>((_resolve, reject) => {
    const fail = () => reject(new Error(`the stream was silent for ${silenceMs} ms`))
    timer = setTimeout(fail, silenceMs)
  })
  try {
    return await Promise.race([reader.read(), silence])
  } finally {
    clearTimeout(timer)
  }
}

function eventOf(block: string): ServerEvent | null {
  let event: string | null = null
  let id: string | null = null
  const data: string[] = []
  for (const line of block.split(/\r?\n/)) {
    const colon = line.indexOf(':')
    if (colon <= 0) continue
    const value = line.slice(colon + 1).replace(/^ /, '')
    const field = line.slice(0, colon)
    if (field === 'event') event = value
    else if (field === 'id') id = value
    else if (field === 'data') data.push(value)
  }
  return event === null && data.length === 0 ? null : { event: event ?? 'message', data: data.join('\n'), id }
}
