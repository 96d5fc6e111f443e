/**
 * Output on its way to the disk: copied at once, written in batches, never waited for.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * A program may print faster than the disk is worth troubling: then the older of what waits is dropped, as the files would drop it
 * a moment later anyway, and at least the last FILE_BYTES are kept without a gap. So neither the program nor the disk pays for a
 * gigabyte of which a megabyte is kept, and memory stays constant.
 */
import { FILE_BYTES } from './output-files.ts'
import type { OutputFileWriter } from './output-files.ts'
import { RecordBuffer } from './output-record.ts'
import type { StoredChunk } from './output-record.ts'

/** Also for those who follow it a batch of this size is worth a pause. */
const LARGE_BATCH_BYTES = 65_536
/** After each batch, so that the next one grows and a program that talks line by line costs no write per line. */
export const PAUSE_MS = 20

export interface OutputWriterNeeds {
  readonly files: Pick<OutputFileWriter, 'write' | 'close'>
  readonly seq: number
  /** When the execution started. */
  readonly startTime: number
  /** Somebody waits for the next batch, and is not kept waiting for a small one. */
  isFollowed(): boolean
  /** A batch was written, or was lost. */
  onWritten(): void
  onTrouble(error: unknown): void
}

interface Batch {
  readonly records: RecordBuffer
  seq: number
  /** What came before it was dropped: with this batch, older files are of no more use. */
  startsAnew: boolean
}

export class OutputWriter {
  readonly #needs: OutputWriterNeeds
  #filling: Batch
  /** Full, and not yet written. */
  #full: Batch | null = null
  #spare: RecordBuffer | null = null
  #appendedSeq: number
  #writtenSeq: number
  #run: Promise<void> | null = null
  #endPause: (() => void) | null = null
  /** The last batch was a large one. */
  #isLoud = false
  #isClosing = false
  #waiting: { readonly seq: number; readonly resolve: () => void }[] = []

  constructor(needs: OutputWriterNeeds) {
    this.#needs = needs
    this.#appendedSeq = needs.seq
    this.#writtenSeq = needs.seq
    this.#filling = { records: new RecordBuffer(needs.startTime), seq: needs.seq, startsAnew: false }
  }

  /** Everything up to here was written or is lost. */
  get writtenSeq(): number {
    return this.#writtenSeq
  }

  /** Nothing waits to be written. */
  get isCaughtUp(): boolean {
    return this.#writtenSeq >= this.#appendedSeq
  }

  append(chunk: StoredChunk): void {
    this.#filling.records.append(chunk)
    this.#filling.seq = chunk.seq
    this.#appendedSeq = chunk.seq
    if (this.#filling.records.size >= FILE_BYTES) this.#setFullAside()
    this.#run ??= this.#write()
  }

  /** Resolves once everything appended so far was written or is lost. */
  flush(): Promise<void> {
    if (this.isCaughtUp) return Promise.resolve()
    this.#endPause?.()
    return new Promise((resolve) => this.#waiting.push({ seq: this.#appendedSeq, resolve }))
  }

  /** Somebody has begun to follow it. */
  hurry(): void {
    if (!this.#isLoud) this.#endPause?.()
  }

  async close(): Promise<void> {
    this.#isClosing = true
    this.#endPause?.()
    await this.#run
    await this.#needs.files.close()
  }

  #setFullAside(): void {
    const dropped = this.#full
    this.#full = this.#filling
    if (dropped !== null) this.#full.startsAnew = true
    this.#filling = this.#emptyBatch(dropped?.records)
  }

  #emptyBatch(used: RecordBuffer | undefined): Batch {
    const records = used ?? this.#spare ?? new RecordBuffer(this.#needs.startTime)
    if (used === undefined) this.#spare = null
    records.clear()
    return { records, seq: this.#appendedSeq, startsAnew: false }
  }

  async #write(): Promise<void> {
    // Whatever is appended in this turn of the loop goes into the first batch.
    await Promise.resolve()
    for (let batch = this.#nextBatch(); batch !== null; batch = this.#nextBatch()) {
      try {
        await this.#needs.files.write(batch.records.bytes, batch.startsAnew)
      } catch (error) {
        // Decision: a full disk must not stop the program; its readers are told of the gap.
        this.#needs.onTrouble(error)
      }
      this.#isLoud = batch.records.size >= LARGE_BATCH_BYTES
      // A program that has become quiet gives the memory of its loud time back.
      this.#spare = this.#isLoud || batch.records.capacity <= LARGE_BATCH_BYTES ? batch.records : null
      this.#told(batch.seq)
      if ((this.#isLoud || !this.#needs.isFollowed()) && this.#waiting.length === 0 && !this.#isClosing) await this.#pause()
    }
    this.#run = null
  }

  #nextBatch(): Batch | null {
    const batch = this.#full ?? this.#filling
    if (batch.records.size === 0) return null
    if (batch === this.#full) this.#full = null
    else this.#filling = this.#emptyBatch(undefined)
    return batch
  }

  #told(seq: number): void {
    this.#writtenSeq = seq
    const done = this.#waiting.filter((waiter) => waiter.seq <= seq)
    this.#waiting = this.#waiting.filter((waiter) => waiter.seq > seq)
    for (const { resolve } of done) resolve()
    this.#needs.onWritten()
  }

  async #pause(): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, PAUSE_MS)
      this.#endPause = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#endPause = null
  }
}
