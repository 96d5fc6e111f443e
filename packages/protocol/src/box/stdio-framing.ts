/**
 * Messages on a pipe: one JSON text per line, and long ones in helper lines, because the other end breaks on a line of 64 KiB.
 *
 * Pure: text to lines, and bytes to messages. Lines of one message stay together; whoever writes them holds the pipe meanwhile.
 * Holds always: `stdioReader` gives back what `stdioLines` took, whatever the cuts between the bytes, and keeps at most one message.
 */
import { MAXIMUM_MESSAGE_BYTES, parseFrame } from './frames.ts'

/** Of a message that goes as one line, and of a slice. */
const MAXIMUM_SLICE_BYTES = 16_384
/** A line is shorter than this, its end included. */
const MAXIMUM_LINE_BYTES = 65_536
/** After the one that announces a long message. */
const MAXIMUM_HELPER_LINES = 4096

/** The lines of one message, which is JSON, each with its end. Throws a `RangeError` for a message that no reader takes. */
export function* stdioLines(message: string): Generator<string> {
  const totalBytes = Buffer.byteLength(message)
  if (totalBytes > MAXIMUM_MESSAGE_BYTES) throw new RangeError(`a message of ${totalBytes} bytes is above ${MAXIMUM_MESSAGE_BYTES}`)
  if (totalBytes <= MAXIMUM_SLICE_BYTES) return yield `${message}\n`
  yield `{"type":"chunk_start","total_size":${totalBytes}}\n`
  let offset = 0
  for (const slice of slices(message)) {
    yield `{"type":"chunk_data","data":${JSON.stringify(slice)},"offset":${offset}}\n`
    offset += Buffer.byteLength(slice)
  }
  yield '{"type":"chunk_end"}\n'
}

/** Cut between code points. In JSON only quotes and backslashes are left to escape, so that no line is longer than two slices. */
function* slices(message: string): Generator<string> {
  let from = 0
  while (from < message.length) {
    let to = Math.min(message.length, from + MAXIMUM_SLICE_BYTES)
    while (Buffer.byteLength(message.slice(from, to)) > MAXIMUM_SLICE_BYTES)
      to -= Math.ceil((Buffer.byteLength(message.slice(from, to)) - MAXIMUM_SLICE_BYTES) / 3)
    if (to < message.length && isLowSurrogate(message.charCodeAt(to))) to -= 1
    yield message.slice(from, to)
    from = to
  }
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff
}

export interface StdioReader {
  /** The messages that are whole now. Throws a `RangeError` when the other end breaks the framing: the connection is over then. */
  push(bytes: Uint8Array): readonly string[]
}

interface Window {
  readonly totalBytes: number
  readonly slices: string[]
  bytes: number
  lines: number
}

/** `onStray` hears of every line that was no message. */
export function stdioReader(onStray: () => void = () => undefined): StdioReader {
  let pending: Buffer[] = []
  let pendingBytes = 0
  let window: Window | null = null

  function takeLine(line: string, messages: string[]): void {
    const text = line.trim()
    const isObject = text.startsWith('{') && text.endsWith('}')
    if (window !== null) {
      window.lines += 1
      if (window.lines > MAXIMUM_HELPER_LINES) throw new RangeError('a long message has too many lines')
    }
    if (!isObject) return onStray()
    const helper = /"type"\s*:\s*"chunk_/.test(text) ? parseFrame(text) : null
    if (helper === null || !isHelper(helper)) {
      if (window === null) messages.push(text)
      else onStray()
      return
    }
    const message = takeHelper(helper)
    if (message !== null) messages.push(message)
  }

  function takeHelper(helper: Readonly<Record<string, unknown>>): string | null {
    if (helper['type'] === 'chunk_start') {
      if (window !== null) {
        onStray()
        return null
      }
      const total = helper['total_size']
      if (typeof total !== 'number' || !Number.isInteger(total) || total < 0 || total > MAXIMUM_MESSAGE_BYTES)
        throw new RangeError(`the size of a long message must be between 0 and ${MAXIMUM_MESSAGE_BYTES}`)
      window = { totalBytes: total, slices: [], bytes: 0, lines: 0 }
      return null
    }
    if (window === null) {
      onStray()
      return null
    }
    if (helper['type'] === 'chunk_data') {
      const { data, offset } = helper
      if (typeof data !== 'string' || offset !== window.bytes) throw new RangeError('a slice of a long message is not the next one')
      window.bytes += Buffer.byteLength(data)
      if (window.bytes > window.totalBytes) throw new RangeError('a long message is longer than announced')
      window.slices.push(data)
      return null
    }
    if (window.bytes !== window.totalBytes) throw new RangeError('a long message is shorter than announced')
    const message = window.slices.join('')
    window = null
    return message
  }

  return {
    push(bytes) {
      const messages: string[] = []
      let rest = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
        const line = Buffer.concat([...pending, rest.subarray(0, end)])
        if (line.length >= MAXIMUM_LINE_BYTES) throw new RangeError(`a line is longer than ${MAXIMUM_LINE_BYTES} bytes`)
        pending = []
        pendingBytes = 0
        rest = rest.subarray(end + 1)
        takeLine(line.toString('utf8'), messages)
      }
      if (rest.length > 0) pending.push(Buffer.from(rest))
      pendingBytes += rest.length
      if (pendingBytes >= MAXIMUM_LINE_BYTES) throw new RangeError(`a line is longer than ${MAXIMUM_LINE_BYTES} bytes`)
      return messages
    },
  }
}

function isHelper({ type }: Readonly<Record<string, unknown>>): boolean {
  return type === 'chunk_start' || type === 'chunk_data' || type === 'chunk_end'
}
