/**
 * The output of an execution while it runs: in memory while it is small, then in files, readable all the time.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import type { OutputChunk } from '../../guest/inside.ts'
import { OutputFileReader, OutputFileWriter, removeOutputFiles } from './output-files.ts'
import type { OutputPlace } from './output-files.ts'
import type { OutputLog, OutputLogNeeds } from './output-log.ts'
import { PageBuilder } from './output-page.ts'
import type { OutputPage } from './output-page.ts'
import { FILE_HEADER_BYTES, fileHeader, framedBytes, parseRecords, RECORD_HEADER_BYTES, RecordBuffer } from './output-record.ts'
import type { StoredChunk } from './output-record.ts'
import { OutputWriter } from './output-writer.ts'
import { addFromFiles } from './stored-output.ts'

/** The largest blob. */
const SMALL_BYTES = 8_192
/** An execution that still runs after this time has even a small output written down. */
const SPILL_AFTER_MS = 100
/** How precise the stored times are. A command that ends sooner stores none. */
const TIME_STEP_MS = 100

export class RunningOutput implements OutputLog {
  readonly #place: OutputPlace
  readonly #onTrouble: (error: unknown) => void
  /** Everything, while it is small; then `null`, and the files have it. */
  #small: RecordBuffer | null
  #writer: OutputWriter | null = null
  #spillTimer: NodeJS.Timeout | null = null
  readonly #startTime: number
  readonly #clock: () => number
  /** Of what was appended last. */
  #time: number
  #seq: number
  #closing: Promise<Uint8Array | null> | null = null
  #isSettled = false
  #followers = 0
  /** Grows with everything that a follower may want to look at. */
  #news = 0
  #waiting = new Set<() => void>()

  constructor({ directory, id, startTime, clock, onTrouble }: OutputLogNeeds, files: OutputFileWriter | null, seq: number) {
    this.#place = { directory, id }
    this.#onTrouble = (error) => onTrouble?.(error instanceof Error ? error : new Error(String(error)))
    this.#startTime = startTime
    this.#clock = clock
    this.#time = startTime
    this.#seq = seq
    this.#small = files === null ? new RecordBuffer(startTime) : null
    if (files !== null) this.#writer = this.#createWriter(files)
  }

  get seq(): number {
    return this.#seq
  }

  get isClosed(): boolean {
    return this.#closing !== null
  }

  append(chunk: OutputChunk): void {
    if (this.#closing !== null || chunk.seq <= this.#seq) return
    const knownBytes = Math.max(0, this.#seq - (chunk.seq - chunk.bytes.length))
    const { channel, seq } = chunk
    const fresh = { channel, bytes: knownBytes === 0 ? chunk.bytes : chunk.bytes.subarray(knownBytes), seq, at: this.#timeOfNow() }
    this.#seq = seq
    const small = this.#small
    if (small !== null && FILE_HEADER_BYTES + small.size + sizeIn(small, fresh) <= SMALL_BYTES) {
      small.append(fresh)
      this.#writer?.append(fresh)
      if (this.#writer === null) this.#spillTimer ??= setTimeout(() => this.#spill(small), SPILL_AFTER_MS).unref()
      this.#tell()
      return
    }
    if (small !== null) this.#spill(small)
    this.#small = null
    this.#toFiles().append(fresh)
  }

  skipTo(seq: number): void {
    if (this.#closing !== null || seq <= this.#seq) return
    this.#seq = seq
    this.#tell()
  }

  async read(after: number, limitBytes?: number): Promise<OutputPage> {
    const page = new PageBuilder(after, limitBytes)
    const endSeq = this.#seq
    if (this.#small !== null) {
      page.add(this.#recordsOf(this.#small))
    } else {
      await this.#writer?.flush()
      await addFromFiles(page, new OutputFileReader(this.#place, this.#startTime), endSeq)
    }
    return page.finish(endSeq)
  }

  async *follow(after: number, signal?: AbortSignal): AsyncGenerator<OutputPage, void, void> {
    this.#followers += 1
    this.#writer?.hurry()
    try {
      yield* this.#pages(after, signal)
    } finally {
      this.#followers -= 1
    }
  }

  close(): Promise<Uint8Array | null> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async remove(): Promise<void> {
    await this.close()
    // What never left the memory has no files, and looking for them would cost every small command a walk to the disk.
    if (this.#writer !== null) await removeOutputFiles(this.#place)
  }

  async #close(): Promise<Uint8Array | null> {
    if (this.#spillTimer !== null) clearTimeout(this.#spillTimer)
    if (this.#writer !== null) await this.#writer.close().catch(this.#onTrouble)
    this.#isSettled = true
    this.#tell()
    if (this.#small === null) return null
    return this.#small.size === 0 ? new Uint8Array() : Buffer.concat([fileHeader(0), this.#small.bytes])
  }

  async *#pages(after: number, signal: AbortSignal | undefined): AsyncGenerator<OutputPage, void, void> {
    const reader = new OutputFileReader(this.#place, this.#startTime)
    let cursor = after
    for (;;) {
      if (signal?.aborted) return
      const news = this.#news
      const isSettled = this.#isSettled
      const page = await this.#nextPage(reader, cursor)
      if (page.seq > cursor) {
        cursor = page.seq
        yield page
      } else if (isSettled) {
        return
      } else if (news === this.#news) {
        await this.#moreNews(signal)
      }
    }
  }

  async #nextPage(reader: OutputFileReader, after: number): Promise<OutputPage> {
    const page = new PageBuilder(after)
    const endSeq = this.#writtenSeq
    if (this.#small !== null) page.add(this.#recordsOf(this.#small))
    else if (endSeq > after) page.add(await reader.next(after))
    // One step at a time: there may be more in the files.
    return page.finish(page.seq > after ? page.seq : endSeq)
  }

  get #writtenSeq(): number {
    return this.#small !== null || this.#writer === null || this.#writer.isCaughtUp ? this.#seq : this.#writer.writtenSeq
  }

  #spill(small: RecordBuffer): void {
    if (this.#spillTimer !== null) clearTimeout(this.#spillTimer)
    this.#spillTimer = null
    if (this.#writer !== null) return
    const writer = this.#toFiles()
    for (const chunk of this.#recordsOf(small)) writer.append(chunk)
  }

  #toFiles(): OutputWriter {
    this.#writer ??= this.#createWriter(OutputFileWriter.fresh(this.#place))
    return this.#writer
  }

  #createWriter(files: OutputFileWriter): OutputWriter {
    return new OutputWriter({
      files,
      seq: this.#small === null ? this.#seq : 0,
      startTime: this.#startTime,
      isFollowed: () => this.#followers > 0,
      onWritten: () => this.#tell(),
      onTrouble: this.#onTrouble,
    })
  }

  /** Changes at most once in `TIME_STEP_MS`, also when the clock was set back. */
  #timeOfNow(): number {
    const now = this.#clock()
    if (Math.abs(now - this.#time) >= TIME_STEP_MS) this.#time = now
    return this.#time
  }

  #recordsOf(small: RecordBuffer): readonly StoredChunk[] {
    return parseRecords(small.bytes, 0, 0, this.#startTime).chunks
  }

  #tell(): void {
    this.#news += 1
    if (this.#waiting.size === 0) return
    const waiting = this.#waiting
    this.#waiting = new Set()
    for (const wake of waiting) wake()
  }

  #moreNews(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.#waiting.delete(wake)
        signal?.removeEventListener('abort', wake)
        resolve()
      }
      this.#waiting.add(wake)
      signal?.addEventListener('abort', wake, { once: true })
    })
  }
}

/** At most. */
function sizeIn(records: RecordBuffer, { bytes, at }: StoredChunk): number {
  return framedBytes(bytes.length) + (at === records.time ? 0 : RECORD_HEADER_BYTES)
}
