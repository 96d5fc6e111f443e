/**
 * From us to a program's stdin (or a TCP stream inside), within the credit that the guest has granted.
 *
 * ingress → access → policy → sessions → sandboxes → [guest] → result
 */
import { HoldfastError } from '@holdfast/protocol'
import { encodeControl, encodeDataHeader, FrameType, HEADER_BYTES, MAX_DATA_BYTES, StreamChannel } from './codec.ts'
import { violated } from './violation.ts'

export const INPUT_CREDIT_BYTES = 1_048_576
/** Up to here the bytes are copied behind their header, so that the frame is one buffer and the caller's is free at once. */
const COPY_BYTES = 16_384

export type OnSent = (error: HoldfastError | null) => void

interface PendingWrite {
  readonly bytes: Uint8Array
  sentBytes: number
  readonly onSent: OnSent
}

export class InputPipe {
  readonly #stream: number
  readonly #send: (bytes: Uint8Array, onFlushed?: () => void) => void
  #creditBytes = INPUT_CREDIT_BYTES
  #pending: PendingWrite[] = []
  /** Large writes handed to the socket but not flushed: they fail with the pipe. */
  readonly #inFlight = new Set<OnSent>()
  #isEnding = false
  #isEofSent = false
  #closedBy: (() => HoldfastError) | null = null

  constructor(stream: number, send: (bytes: Uint8Array, onFlushed?: () => void) => void) {
    this.#stream = stream
    this.#send = send
  }

  /** `onSent` is called once the bytes are on their way and the caller may overwrite them. */
  write(bytes: Uint8Array, onSent: OnSent): void {
    if (this.#closedBy) return onSent(this.#closedBy())
    if (this.#isEnding) return onSent(new HoldfastError('invalid_request', 'stdin was ended already; nothing can be written after that'))
    this.#pending.push({ bytes, sentBytes: 0, onSent })
    this.#pump()
  }

  /** EOF after everything that was written. Twice is fine. */
  end(): void {
    if (this.#isEnding || this.#closedBy) return
    this.#isEnding = true
    this.#pump()
  }

  /** What is left of the credit when another reader has written before. */
  startWith(creditBytes: number): void {
    if (creditBytes > INPUT_CREDIT_BYTES) throw violated(`credit for ${creditBytes} bytes at the start`)
    this.#creditBytes = creditBytes
  }

  grant(bytes: number): void {
    if (bytes === 0 || this.#creditBytes + bytes > INPUT_CREDIT_BYTES) throw violated(`credit for ${bytes} bytes that were never sent`)
    this.#creditBytes += bytes
    if (!this.#closedBy) this.#pump()
  }

  /** Nothing is sent any more; whoever waits hears why. The error is made only when somebody hears it. */
  close(makeError: () => HoldfastError): void {
    if (this.#closedBy) return
    this.#closedBy = makeError
    const waiting = [...this.#inFlight, ...this.#pending.map((write) => write.onSent)]
    this.#inFlight.clear()
    this.#pending = []
    for (const onSent of waiting) onSent(makeError())
  }

  #pump(): void {
    for (let write = this.#pending[0]; write !== undefined; write = this.#pending[0]) {
      while (write.sentBytes < write.bytes.length) {
        if (this.#creditBytes === 0) return
        this.#sendPiece(write)
      }
      this.#pending.shift()
      if (write.bytes.length <= COPY_BYTES) write.onSent(null)
    }
    if (!this.#isEnding || this.#isEofSent || this.#closedBy) return
    this.#isEofSent = true
    this.#send(encodeControl(FrameType.EOF, this.#stream))
  }

  #sendPiece(write: PendingWrite): void {
    const { bytes, sentBytes } = write
    const length = Math.min(this.#creditBytes, MAX_DATA_BYTES, bytes.length - sentBytes)
    const piece = bytes.subarray(sentBytes, sentBytes + length)
    const header = encodeDataHeader(this.#stream, StreamChannel.STDIN, length)
    write.sentBytes += length
    this.#creditBytes -= length
    if (bytes.length <= COPY_BYTES) {
      this.#send(Buffer.concat([header, piece], HEADER_BYTES + length))
      return
    }
    this.#send(header)
    if (write.sentBytes < bytes.length) this.#send(piece)
    else this.#sendLast(piece, write.onSent)
  }

  #sendLast(piece: Uint8Array, onSent: OnSent): void {
    this.#inFlight.add(onSent)
    this.#send(piece, () => {
      if (this.#inFlight.delete(onSent)) onSent(null)
    })
  }
}
