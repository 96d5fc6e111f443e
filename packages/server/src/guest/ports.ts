/**
 * TCP to a port inside the sandbox as a Duplex, with half-close and back-pressure both ways. Works with the network off.
 *
 * ingress → access → policy → sessions → sandboxes → [guest] → result
 */
import { Duplex } from 'node:stream'
import { HoldfastError } from '@holdfast/protocol'
import type { Channel, StreamReceiver } from './channel.ts'
import { encodeControl, frameName, FrameType, StreamChannel } from './codec.ts'
import { endError } from './end-error.ts'
import { Tag } from './fields.ts'
import type { Fields } from './fields.ts'
import { InputPipe } from './input-pipe.ts'
import { OutputReader } from './output-reader.ts'
import { invalid } from './require.ts'
import { violated } from './violation.ts'

const MAX_PORT = 65_535

export function connectPort(channel: Channel, port: number, signal?: AbortSignal): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    if (!Number.isInteger(port) || port < 1 || port > MAX_PORT)
      throw invalid(`port must be a whole number from 1 to ${MAX_PORT}, but is ${port}`)
    signal?.throwIfAborted()
    const abort = (): void => {
      reject(signal?.reason)
      connection.destroy()
    }
    const connection = channel.open(
      FrameType.CONNECT,
      [
        [Tag.PORT, port],
        [Tag.WINDOW, channel.windowBytes],
      ],
      (stream) =>
        new PortConnection(channel, stream, (error) => {
          signal?.removeEventListener('abort', abort)
          if (error) reject(error)
          else resolve(connection)
        }),
    )
    signal?.addEventListener('abort', abort, { once: true })
  })
}

class PortConnection extends Duplex implements StreamReceiver {
  readonly #channel: Channel
  readonly #stream: number
  readonly #output: OutputReader
  readonly #input: InputPipe
  readonly #onConnected: (error: HoldfastError | null) => void
  readonly #deadline: NodeJS.Timeout
  #state: 'opened' | 'connected' | 'received-fin' | 'over' = 'opened'

  constructor(channel: Channel, stream: number, onConnected: (error: HoldfastError | null) => void) {
    super({ allowHalfOpen: true })
    this.#channel = channel
    this.#stream = stream
    this.#onConnected = onConnected
    // A program that does not accept keeps the guest from answering; whether the guest is there is for others to ask.
    this.#deadline = setTimeout(() => this.#giveUp(), channel.answerTimeoutMs).unref()
    this.#input = new InputPipe(stream, (bytes, onFlushed) => channel.send(bytes, onFlushed))
    this.#output = new OutputReader(channel.windowBytes, (seq) => channel.send(encodeControl(FrameType.ACK, stream, [[Tag.SEQ, seq]])))
    this.#output.consume({
      keepsBytes: true,
      chunk: (_channel, bytes) => this.#hand(bytes),
      finished: () => this.push(null),
    })
    // A failure between here and the caller's first listener must not be an uncaught one; the stream stays errored for him.
    this.on('error', () => undefined)
  }

  control(type: number, fields: Fields): void {
    if (type === FrameType.STARTED && this.#state === 'opened') this.#connected(fields)
    else if (type === FrameType.CREDIT && this.#state !== 'opened') this.#input.grant(fields.requiredNumber(Tag.COUNT))
    else if (type === FrameType.EOF && this.#state === 'connected') this.#receivedFin()
    else if (type === FrameType.END) this.#ended(fields)
    else throw violated(`${frameName(type)} came while the connection was ${this.#state}`)
  }

  data(channel: number, bytes: Buffer): void {
    if (this.#state !== 'connected') throw violated(`data came while the connection was ${this.#state}, not connected`)
    if (channel !== StreamChannel.STDOUT) throw violated(`data of a connection came on the channel ${channel}`)
    this.#output.deliver(1, bytes)
  }

  lost(error: HoldfastError): void {
    this.#finish(error)
  }

  /** A mistake of whoever reads this connection must not end the others on the channel. */
  #hand(bytes: Buffer): boolean {
    try {
      return this.push(bytes)
    } catch (cause) {
      this.destroy(new HoldfastError('internal', 'the reader of a connection threw', {}, { cause }))
      return false
    }
  }

  #giveUp(): void {
    const words = `the port took no connection within ${this.#channel.answerTimeoutMs} ms (ETIMEDOUT)`
    const error = new HoldfastError('connection_refused', words, { errno: 'ETIMEDOUT' })
    this.destroy(error)
    this.#onConnected(error)
  }

  #connected(fields: Fields): void {
    clearTimeout(this.#deadline)
    this.#output.startAt(fields.number(Tag.SEQ) ?? 0, fields.number(Tag.WINDOW))
    this.#state = 'connected'
    this.#onConnected(null)
  }

  #receivedFin(): void {
    this.#state = 'received-fin'
    this.#output.complete()
  }

  #ended(fields: Fields): void {
    const error = endError(fields, 'connection_refused')
    if (this.#state === 'opened' && !error) throw violated('END came before STARTED without an errno')
    this.#finish(error)
  }

  /** `null` when both sides had said all they had to say. */
  #finish(error: HoldfastError | null): void {
    clearTimeout(this.#deadline)
    const state = this.#state
    this.#state = 'over'
    this.#input.close(
      () => error ?? new HoldfastError('connection_refused', 'the program inside has closed the connection (EPIPE)', { errno: 'EPIPE' }),
    )
    if (error) this.destroy(error)
    else this.#output.complete()
    if (state === 'opened') this.#onConnected(error)
  }

  override _read(): void {
    this.#output.resume()
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: (error: Error | null) => void): void {
    this.#input.write(bytes, done)
  }

  override _final(done: (error: Error | null) => void): void {
    this.#input.end()
    done(null)
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.#deadline)
    // After a clean end the last bytes may still be on their way inside: END will come by itself, CLOSE would cut them off.
    if (!this.readableEnded || !this.writableFinished) {
      this.#state = 'over'
      this.#channel.closeStream(this.#stream)
    }
    this.#input.close(() => new HoldfastError('connection_refused', 'the connection was closed', { errno: 'EPIPE' }))
    done(error)
  }
}
