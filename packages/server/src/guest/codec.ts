/**
 * Frame codec: guest messages to bytes and back.
 *
 * ingress → access → policy → sessions → sandboxes → [guest] → result
 *
 * Owns framing and the size limits. Knows no sockets, no sessions and no order of frames.
 * Holds always: decode(encode(f)) equals f under any chunking, and no input makes the decoder hold more than one control
 * payload within its limit. DATA is never assembled: each piece goes on as a slice of the chunk that brought it.
 */
import { fieldsBytes, writeFields } from './fields.ts'
import type { Field } from './fields.ts'
import { violated } from './violation.ts'

export const FrameType = {
  HELLO: 1,
  EXEC: 2,
  ATTACH: 3,
  CONNECT: 4,
  STARTED: 5,
  DATA: 6,
  EOF: 7,
  ACK: 8,
  CREDIT: 9,
  EXIT: 10,
  END: 11,
  CLOSE: 12,
  SIGNAL: 13,
  KILL: 14,
  RESIZE: 15,
  LIST: 16,
  FORGET: 17,
  REPLY: 18,
  PING: 19,
  PONG: 20,
  SHUTDOWN: 21,
} as const
export type FrameType = (typeof FrameType)[keyof typeof FrameType]

const FRAME_NAMES: Readonly<Record<number, string>> = Object.fromEntries(Object.entries(FrameType).map(([name, type]) => [type, name]))

export function frameName(type: number): string {
  return FRAME_NAMES[type] ?? `type ${type}`
}

export const StreamChannel = { STDIN: 0, STDOUT: 1, STDERR: 2 } as const

export const PROTOCOL_VERSION = 1
export const HEADER_BYTES = 12
export const MAX_DATA_BYTES = 65_536
export const MAX_CONTROL_TO_GUEST_BYTES = 1_048_576
export const MAX_CONTROL_TO_SERVER_BYTES = 65_536

function writeHeader(target: Buffer, length: number, type: FrameType, channel: number, stream: number): void {
  target.writeUInt32LE(length, 0)
  target.writeUInt32LE(type | (channel << 8), 4)
  target.writeUInt32LE(stream, 8)
}

/** A frame of fields, as one buffer. */
export function encodeControl(type: FrameType, stream: number, fields: readonly Field[] = [], channel = 0): Buffer {
  const length = fieldsBytes(fields)
  const frame = Buffer.allocUnsafe(HEADER_BYTES + length)
  writeHeader(frame, length, type, channel, stream)
  writeFields(frame, HEADER_BYTES, fields)
  return frame
}

/** The header of a DATA frame; the payload follows it as it is. */
export function encodeDataHeader(stream: number, channel: number, payloadBytes: number): Buffer {
  const header = Buffer.allocUnsafe(HEADER_BYTES)
  writeHeader(header, payloadBytes, FrameType.DATA, channel, stream)
  return header
}

/** What a decoder hands on. Both may throw; the decoder is then not to be used again. */
export interface FrameSink {
  /** A piece of a DATA payload, lying in the chunk that brought it; an empty one for an empty frame. */
  data(stream: number, channel: number, bytes: Buffer): void
  /** Any other frame, whole. The payload lives only during the call. */
  control(type: number, stream: number, channel: number, payload: Buffer): void
}

const EMPTY = Buffer.alloc(0)

/** Bytes in any chunking to frames. Throws `guest_protocol_violated` at the first header that breaks a rule. */
export class FrameDecoder {
  readonly #sink: FrameSink
  readonly #maxControlBytes: number
  readonly #header = Buffer.alloc(HEADER_BYTES)
  #headerBytes = 0
  #type = 0
  #channel = 0
  #stream = 0
  #missingBytes = 0
  /** The control payload under assembly; `null` while none is or DATA passes through. */
  #payload: Buffer | null = null
  #stopped = false

  constructor(sink: FrameSink, maxControlBytes: number) {
    this.#sink = sink
    this.#maxControlBytes = maxControlBytes
  }

  /** Memory this decoder keeps between chunks, beyond its header. */
  get heldBytes(): number {
    return this.#payload?.length ?? 0
  }

  /** Nothing more reaches the sink, not even the rest of the chunk at hand. */
  stop(): void {
    this.#stopped = true
    this.#payload = null
  }

  push(chunk: Buffer): void {
    let at = 0
    while (at < chunk.length && !this.#stopped) {
      at = this.#missingBytes > 0 ? this.#takePayload(chunk, at) : this.#takeHeader(chunk, at)
    }
  }

  #takeHeader(chunk: Buffer, at: number): number {
    if (this.#headerBytes === 0 && chunk.length - at >= HEADER_BYTES) {
      this.#begin(chunk, at)
      return at + HEADER_BYTES
    }
    const taken = Math.min(HEADER_BYTES - this.#headerBytes, chunk.length - at)
    chunk.copy(this.#header, this.#headerBytes, at, at + taken)
    this.#headerBytes += taken
    if (this.#headerBytes === HEADER_BYTES) {
      this.#headerBytes = 0
      this.#begin(this.#header, 0)
    }
    return at + taken
  }

  #begin(bytes: Buffer, at: number): void {
    const length = bytes.readUInt32LE(at)
    const type = bytes.readUInt8(at + 4)
    const channel = bytes.readUInt8(at + 5)
    this.#check(length, type, channel, bytes.readUInt16LE(at + 6))
    this.#type = type
    this.#channel = channel
    this.#stream = bytes.readUInt32LE(at + 8)
    this.#missingBytes = length
    if (length > 0) return
    if (type === FrameType.DATA) this.#sink.data(this.#stream, channel, EMPTY)
    else this.#sink.control(type, this.#stream, channel, EMPTY)
  }

  #check(length: number, type: number, channel: number, reserved: number): void {
    if (FRAME_NAMES[type] === undefined) throw violated(`a frame has the unknown type ${type}`)
    if (reserved !== 0) throw violated(`the reserved field of a ${frameName(type)} frame is ${reserved} instead of zero`)
    const maximum = type === FrameType.DATA ? MAX_DATA_BYTES : this.#maxControlBytes
    if (length > maximum) throw violated(`a ${frameName(type)} frame of ${length} bytes is above the limit of ${maximum}`)
    const maximumChannel = type === FrameType.DATA || type === FrameType.EOF ? StreamChannel.STDERR : 0
    if (channel > maximumChannel) throw violated(`a ${frameName(type)} frame names the channel ${channel}`)
  }

  #takePayload(chunk: Buffer, at: number): number {
    const taken = Math.min(this.#missingBytes, chunk.length - at)
    const piece = chunk.subarray(at, at + taken)
    if (this.#type === FrameType.DATA) {
      this.#missingBytes -= taken
      this.#sink.data(this.#stream, this.#channel, piece)
    } else {
      this.#takeControl(piece)
    }
    return at + taken
  }

  #takeControl(piece: Buffer): void {
    if (this.#payload === null && piece.length === this.#missingBytes) {
      this.#missingBytes = 0
      this.#sink.control(this.#type, this.#stream, this.#channel, piece)
      return
    }
    this.#payload ??= Buffer.allocUnsafeSlow(this.#missingBytes)
    piece.copy(this.#payload, this.#payload.length - this.#missingBytes)
    this.#missingBytes -= piece.length
    if (this.#missingBytes > 0) return
    const payload = this.#payload
    this.#payload = null
    this.#sink.control(this.#type, this.#stream, this.#channel, payload)
  }
}
