/**
 * One connection to one guest: greets, numbers the streams, hands each frame to its stream, and judges what the guest sends.
 *
 * ingress → access → policy → sessions → sandboxes → [guest] → result
 *
 * The guest is hostile. Whatever breaks the protocol ends this channel, and nothing else, with `guest_protocol_violated`;
 * everything that waits on it is rejected. Every kind of frame is bounded by something the server sent first, so that no
 * flood is endless. Knows nothing of what streams mean: `execution-stream.ts`, `request.ts` and `ports.ts` do.
 */
import type { Duplex } from 'node:stream'
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import {
  encodeControl,
  FrameDecoder,
  frameName,
  FrameType,
  MAX_CONTROL_TO_GUEST_BYTES,
  MAX_CONTROL_TO_SERVER_BYTES,
  HEADER_BYTES,
  PROTOCOL_VERSION,
  StreamChannel,
} from './codec.ts'
import { Fields, Tag } from './fields.ts'
import type { Field } from './fields.ts'
import { Outbox } from './outbox.ts'
import { Pings } from './pings.ts'
import { violated } from './violation.ts'

/** The guest's own maximum, half of its journal. */
const MAX_WINDOW_BYTES = 524_288
const MAX_OPEN_STREAMS = 1_024
/** What may wait for a guest that does not read before new streams are refused. */
const MAX_BACKLOG_BYTES = 67_108_864
const MAX_STREAM_NUMBER = 0xffff_ffff
const BOOT_BYTES = 16

export interface ChannelOptions {
  /** Output that may be on the way or unread, per stream. */
  readonly windowBytes?: number
  readonly helloTimeoutMs?: number
  /** For everything that the guest answers by itself, e.g. STARTED. */
  readonly answerTimeoutMs?: number
  /** Absent: only the connection itself tells that the guest is gone. */
  readonly heartbeat?: { readonly intervalMs: number; readonly timeoutMs: number }
  /** Abandons the greeting. */
  readonly signal?: AbortSignal
}

/** What a stream's owner hears. `control` and `data` throw `guest_protocol_violated` when a frame is out of order. */
export interface StreamReceiver {
  control(type: number, fields: Fields): void
  data(channel: number, bytes: Buffer): void
  /** The channel is over; no frame follows. */
  lost(error: HoldfastError): void
}

/** Resolves once the guest has said HELLO. The channel owns the duplex from the first moment on. */
export function connectChannel(duplex: Duplex, options: ChannelOptions = {}): Promise<Channel> {
  return new Promise((resolve, reject) => {
    const channel = new Channel(duplex, options, () => {
      options.signal?.removeEventListener('abort', abort)
      resolve(channel)
    })
    const abort = (): void => {
      channel.close()
      reject(options.signal?.reason)
    }
    void channel.closed.then((error) => {
      options.signal?.removeEventListener('abort', abort)
      reject(error)
    })
    if (options.signal?.aborted) abort()
    else options.signal?.addEventListener('abort', abort, { once: true })
  })
}

export class Channel {
  readonly windowBytes: number
  readonly answerTimeoutMs: number
  /** Resolves, never rejects, with the reason when the channel is over. */
  readonly closed: Promise<HoldfastError>
  readonly #duplex: Duplex
  readonly #decoder: FrameDecoder
  readonly #outbox: Outbox
  readonly #pings: Pings
  readonly #streams = new Map<number, StreamReceiver>()
  readonly #resolveClosed: (error: HoldfastError) => void
  readonly #onGreeted: () => void
  readonly #helloTimer: NodeJS.Timeout
  #nextStream = 1
  /** What may still arrive for streams that we closed: such frames crossed our CLOSE on the wire. */
  #crossingAllowance = 0
  #bootId: string | null = null
  #over: HoldfastError | null = null

  constructor(duplex: Duplex, options: ChannelOptions, onGreeted: () => void) {
    this.windowBytes = Math.min(options.windowBytes ?? MAX_WINDOW_BYTES, MAX_WINDOW_BYTES)
    this.answerTimeoutMs = options.answerTimeoutMs ?? 30_000
    const { promise, resolve } = Promise.withResolvers<HoldfastError>()
    this.closed = promise
    this.#resolveClosed = resolve
    this.#onGreeted = onGreeted
    this.#duplex = duplex
    this.#outbox = new Outbox(duplex)
    this.#decoder = new FrameDecoder(
      {
        data: (stream, channel, bytes) => this.#data(stream, channel, bytes),
        control: (type, stream, channel, payload) => this.#control(type, stream, channel, payload),
      },
      MAX_CONTROL_TO_SERVER_BYTES,
    )
    this.#pings = new Pings(
      (token) => this.send(encodeControl(FrameType.PING, 0, [[Tag.TOKEN, token]])),
      (error) => this.fail(error),
      options.heartbeat,
    )
    const helloTimeoutMs = options.helloTimeoutMs ?? 10_000
    this.#helloTimer = setTimeout(() => this.fail(unreachable(`the guest did not greet within ${helloTimeoutMs} ms`)), helloTimeoutMs)
    duplex.on('data', (chunk: Buffer) => this.#receive(chunk))
    duplex.on('error', (error) => this.fail(unreachable(`the connection to the guest failed: ${error.message}`, error)))
    duplex.on('end', () => this.fail(unreachable('the guest closed the connection')))
    duplex.on('close', () => this.fail(unreachable('the connection to the guest is closed')))
  }

  get bootId(): string {
    return this.#bootId ?? ''
  }

  get isOver(): boolean {
    return this.#over !== null
  }

  /** Opens a stream with its first frame; `create` gets the number. Throws when the channel is over or full. */
  open<T extends StreamReceiver>(type: FrameType, fields: readonly Field[], create: (stream: number) => T): T {
    if (this.#over) throw this.#over
    if (this.#streams.size >= MAX_OPEN_STREAMS)
      throw new HoldfastError('capacity_exhausted', `${MAX_OPEN_STREAMS} streams to this sandbox are open`)
    if (this.#outbox.backlogBytes > MAX_BACKLOG_BYTES)
      throw new HoldfastError('capacity_exhausted', `the guest has ${MAX_BACKLOG_BYTES} bytes still to read`)
    if (this.#nextStream > MAX_STREAM_NUMBER) throw unreachable('the stream numbers of this connection are used up; connect again')
    const frame = encodeControl(type, this.#nextStream, fields)
    const payloadBytes = frame.length - HEADER_BYTES
    if (payloadBytes > MAX_CONTROL_TO_GUEST_BYTES) {
      throw new HoldfastError(
        'invalid_request',
        `the request takes ${payloadBytes} bytes, above the limit of ${MAX_CONTROL_TO_GUEST_BYTES}`,
      )
    }
    const stream = this.#nextStream
    this.#nextStream += 1
    const receiver = create(stream)
    this.#streams.set(stream, receiver)
    this.#outbox.send(frame)
    return receiver
  }

  send(bytes: Uint8Array, onFlushed?: () => void): void {
    this.#outbox.send(bytes, onFlushed)
  }

  /** The reader of a stream leaves; it hears nothing more. */
  closeStream(stream: number): void {
    if (!this.#streams.delete(stream)) return
    this.#crossingAllowance += this.windowBytes * 2 + 1_024
    this.#outbox.send(encodeControl(FrameType.CLOSE, stream))
  }

  /** Ends the channel unless the timer is cleared in time. */
  expect(what: string, timeoutMs: number): NodeJS.Timeout {
    return setTimeout(() => this.fail(unreachable(`the guest did not answer ${what} within ${timeoutMs} ms`)), timeoutMs).unref()
  }

  forget(id: bigint): void {
    this.#outbox.forget(id)
  }

  ping(signal?: AbortSignal): Promise<void> {
    if (this.#over) return Promise.reject(this.#over)
    return this.#pings.ping(this.answerTimeoutMs, signal)
  }

  /** What was sent still leaves; everything that waits is rejected. Twice is fine. */
  close(): void {
    if (this.#over) return
    this.#outbox.flush()
    this.#finish(unreachable('the connection to the guest was closed by the server'))
    this.#duplex.end(() => this.#duplex.destroy())
  }

  /** Ends the channel at once. */
  fail(error: HoldfastError): void {
    if (this.#over) return
    this.#finish(error)
    this.#duplex.destroy()
  }

  #finish(error: HoldfastError): void {
    this.#over = error
    clearTimeout(this.#helloTimer)
    this.#decoder.stop()
    this.#outbox.stop()
    const receivers = [...this.#streams.values()]
    this.#streams.clear()
    for (const receiver of receivers) receiver.lost(error)
    this.#pings.lost(error)
    this.#resolveClosed(error)
  }

  #receive(chunk: Buffer): void {
    try {
      this.#decoder.push(chunk)
    } catch (error) {
      if (isHoldfastError(error)) this.fail(error)
      else this.fail(new HoldfastError('internal', 'a reader of guest output threw', {}, { cause: error }))
    }
  }

  #data(stream: number, channel: number, bytes: Buffer): void {
    const receiver = this.#streams.get(stream)
    if (receiver) receiver.data(channel, bytes)
    else this.#crossed(stream, 'DATA', bytes.length)
  }

  #control(type: number, stream: number, channel: number, payload: Buffer): void {
    const fields = new Fields(payload)
    if (this.#bootId === null) return this.#greet(type, stream, fields)
    if (stream === 0) return this.#connectionFrame(type, fields)
    if (type === FrameType.EOF && channel !== StreamChannel.STDOUT) throw violated(`EOF names the channel ${channel}`)
    const receiver = this.#streams.get(stream)
    if (!receiver) return this.#crossed(stream, frameName(type), payload.length)
    if (type === FrameType.END) this.#end(stream, receiver, fields)
    else receiver.control(type, fields)
  }

  #end(stream: number, receiver: StreamReceiver, fields: Fields): void {
    this.#streams.delete(stream)
    try {
      receiver.control(FrameType.END, fields)
    } catch (error) {
      // It waits still, so it must hear of the end of the channel.
      this.#streams.set(stream, receiver)
      throw error
    }
  }

  #greet(type: number, stream: number, fields: Fields): void {
    if (type !== FrameType.HELLO || stream !== 0)
      throw violated(`the first frame is ${frameName(type)} on stream ${stream} instead of HELLO`)
    const version = fields.requiredNumber(Tag.VERSION)
    if (version !== PROTOCOL_VERSION)
      throw violated(`the guest speaks version ${version} of the protocol, this server version ${PROTOCOL_VERSION}`)
    const boot = fields.bytes(Tag.BOOT)
    if (boot?.length !== BOOT_BYTES) throw violated(`the boot id has ${boot?.length ?? 0} bytes instead of ${BOOT_BYTES}`)
    this.#bootId = boot.toString('hex')
    clearTimeout(this.#helloTimer)
    this.#pings.start()
    this.#onGreeted()
  }

  #connectionFrame(type: number, fields: Fields): void {
    if (type !== FrameType.PONG) throw violated(`a ${frameName(type)} frame came on stream 0`)
    this.#pings.pong(fields.requiredNumber(Tag.TOKEN))
  }

  /** A frame for no open stream: fine only if it can have crossed a CLOSE of ours. */
  #crossed(stream: number, name: string, payloadBytes: number): void {
    if (stream === 0 || stream >= this.#nextStream) throw violated(`a ${name} frame names stream ${stream}, which was never opened`)
    this.#crossingAllowance -= payloadBytes + 1
    if (this.#crossingAllowance < 0) throw violated(`a ${name} frame names stream ${stream}, which has ended`)
  }
}

function unreachable(message: string, cause?: Error): HoldfastError<'guest_unreachable'> {
  return new HoldfastError('guest_unreachable', message, {}, cause ? { cause } : undefined)
}
