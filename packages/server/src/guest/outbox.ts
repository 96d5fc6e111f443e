/**
 * The way out of a channel: frames of one tick leave as one write.
 *
 * ingress → access → policy → sessions → sandboxes → [guest] → result
 *
 * FORGET frames cost nothing: the ids wait for the next write, or for a second when there is none.
 */
import type { Duplex } from 'node:stream'
import { encodeControl, FrameType } from './codec.ts'
import { Tag } from './fields.ts'

/** Up to here one copy is cheaper than a vectored write. */
const JOIN_BYTES = 16_384
const FORGET_AFTER_MS = 1_000
const MAX_FORGET_IDS = 4_096

export class Outbox {
  readonly #duplex: Duplex
  #frames: Uint8Array[] = []
  #frameBytes = 0
  #onFlushed: (() => void)[] = []
  #scheduled = false
  #stopped = false
  #forgetIds: bigint[] = []
  #forgetTimer: NodeJS.Timeout | null = null

  constructor(duplex: Duplex) {
    this.#duplex = duplex
  }

  /** Bytes that the guest has not taken yet. */
  get backlogBytes(): number {
    return this.#frameBytes + this.#duplex.writableLength
  }

  /** `onFlushed` is called once the bytes may be overwritten; never if the channel ends first. */
  send(bytes: Uint8Array, onFlushed?: () => void): void {
    if (this.#stopped) return
    this.#frames.push(bytes)
    this.#frameBytes += bytes.length
    if (onFlushed) this.#onFlushed.push(onFlushed)
    if (this.#scheduled) return
    this.#scheduled = true
    process.nextTick(() => this.flush())
  }

  forget(id: bigint): void {
    if (this.#stopped) return
    this.#forgetIds.push(id)
    if (this.#forgetIds.length >= MAX_FORGET_IDS) this.#sendForget()
    else this.#forgetTimer ??= setTimeout(() => this.#sendForget(), FORGET_AFTER_MS).unref()
  }

  #sendForget(): void {
    if (this.#forgetTimer) clearTimeout(this.#forgetTimer)
    this.#forgetTimer = null
    if (this.#forgetIds.length === 0) return
    const ids = this.#forgetIds
    this.#forgetIds = []
    this.send(
      encodeControl(
        FrameType.FORGET,
        0,
        ids.map((id) => [Tag.ID, id]),
      ),
    )
  }

  flush(): void {
    if (!this.#stopped) this.#sendForget()
    this.#scheduled = false
    if (this.#stopped || this.#frames.length === 0) return
    const frames = this.#frames
    const listeners = this.#onFlushed
    const bytes = this.#frameBytes
    this.#frames = []
    this.#onFlushed = []
    this.#frameBytes = 0
    const onWritten = listeners.length === 0 ? undefined : () => this.#flushed(listeners)
    const [first] = frames
    if (frames.length === 1) this.#duplex.write(first, onWritten)
    else if (bytes <= JOIN_BYTES) this.#duplex.write(Buffer.concat(frames, bytes), onWritten)
    else this.#writeVector(frames, onWritten)
  }

  #flushed(listeners: readonly (() => void)[]): void {
    if (this.#stopped) return
    for (const listener of listeners) listener()
  }

  #writeVector(frames: readonly Uint8Array[], onWritten: (() => void) | undefined): void {
    this.#duplex.cork()
    for (const frame of frames.slice(0, -1)) this.#duplex.write(frame)
    this.#duplex.write(frames.at(-1), onWritten)
    this.#duplex.uncork()
  }

  stop(): void {
    this.#stopped = true
    this.#frames = []
    this.#onFlushed = []
    this.#frameBytes = 0
    this.#forgetIds = []
    if (this.#forgetTimer) clearTimeout(this.#forgetTimer)
  }
}
