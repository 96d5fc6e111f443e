/**
 * The form in which kept output is stored, the same in a row's blob and in a file.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Little-endian. First `HFO1` and a u32: the number of the file in its row of files (0 in a blob). Then records:
 * u8 channel (1 stdout, 2 stderr), u32 length (1 to 65,536), u64 sequence number after its last byte, the bytes. Numbers grow;
 * a jump between records is output that was lost. A record with 3 in place of the channel has no bytes, and a time in Unix milliseconds
 * in place of the number: when the records after it were received. Those before the first have the execution's start time.
 * Reading stops at the first thing that is not a whole, sensible record.
 */
import type { OutputChunk } from '../../guest/inside.ts'

const MAGIC = 0x314f_4648
export const FILE_HEADER_BYTES = 8
export const RECORD_HEADER_BYTES = 13
export const MAX_RECORD_BYTES = 65_536
const SEQ_OFFSET = 5
const TIME = 3
const FIRST_BYTES = 512
/** Doubling is for small buffers. */
const MAX_GROWTH_BYTES = 262_144

export interface StoredChunk extends OutputChunk {
  /** When the server received it, in Unix milliseconds, as precise as the times that are stored. */
  readonly at: number
}

/** How many bytes a chunk takes at most, when it is not joined to the record before it. */
export function framedBytes(length: number): number {
  return length + Math.ceil(length / MAX_RECORD_BYTES) * RECORD_HEADER_BYTES
}

export function fileHeader(number: number): Buffer {
  const header = Buffer.alloc(FILE_HEADER_BYTES)
  header.writeUInt32LE(MAGIC, 0)
  header.writeUInt32LE(number, 4)
  return header
}

/** The file's number, or `null` when this does not begin as one of ours. */
export function readFileHeader(bytes: Buffer): number | null {
  if (bytes.length < FILE_HEADER_BYTES || bytes.readUInt32LE(0) !== MAGIC) return null
  return bytes.readUInt32LE(4)
}

export interface ParsedRecords {
  readonly chunks: readonly StoredChunk[]
  /** Where the first thing begins that is not a whole record. */
  readonly endOffset: number
  /** The time of what follows there. */
  readonly time: number
}

/** Whole records whose numbers grow beyond `after`; `startTime` is the time of those before the first time record. The chunks share the given memory. */
export function parseRecords(bytes: Buffer, offset: number, after: number, startTime: number): ParsedRecords {
  const chunks: StoredChunk[] = []
  let at = offset
  let seq = after
  let time = startTime
  while (bytes.length - at >= RECORD_HEADER_BYTES) {
    const channel = bytes[at]
    const length = bytes.readUInt32LE(at + 1)
    const value = bytes.readUInt32LE(at + SEQ_OFFSET) + bytes.readUInt32LE(at + SEQ_OFFSET + 4) * 0x1_0000_0000
    const begin = at + RECORD_HEADER_BYTES
    const end = begin + length
    if (!Number.isSafeInteger(value) || end > bytes.length) break
    if (channel === TIME && length === 0) {
      time = value
      at = end
      continue
    }
    if ((channel !== 1 && channel !== 2) || length === 0 || length > MAX_RECORD_BYTES || value - length < seq) break
    chunks.push({ channel: channel === 1 ? 'stdout' : 'stderr', bytes: bytes.subarray(begin, end), seq: value, at: time })
    seq = value
    at = end
  }
  return { chunks, endOffset: at, time }
}

/** Records in memory, in their stored form. A chunk that goes on where the last record ended, at the same time, is joined to it. */
export class RecordBuffer {
  readonly #startTime: number
  #time: number
  #bytes: Buffer = Buffer.alloc(0)
  #used = 0
  #lastOffset = -1
  #lastSeq = 0

  constructor(startTime: number) {
    this.#startTime = startTime
    this.#time = startTime
  }

  /** The time of its last record. */
  get time(): number {
    return this.#time
  }

  get size(): number {
    return this.#used
  }

  /** The memory it holds. */
  get capacity(): number {
    return this.#bytes.length
  }

  /** Valid until the next `append` or `clear`. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#used)
  }

  append({ channel, bytes, seq, at }: StoredChunk): void {
    if (at !== this.#time) this.#addTime(at)
    const start = seq - bytes.length
    const code = channel === 'stdout' ? 1 : 2
    for (let from = 0; from < bytes.length;) {
      const taken = this.#join(code, bytes, from, start + from) || this.#add(code, bytes, from, start + from)
      from += taken
    }
  }

  /** Keeps its memory for the next records. They state their time again: they may become the first of a file. */
  clear(): void {
    this.#time = this.#startTime
    this.#used = 0
    this.#lastOffset = -1
  }

  #join(code: number, bytes: Buffer, from: number, start: number): number {
    const at = this.#lastOffset
    if (at < 0 || start !== this.#lastSeq || this.#bytes[at] !== code) return 0
    const length = this.#bytes.readUInt32LE(at + 1)
    const taken = Math.min(bytes.length - from, MAX_RECORD_BYTES - length)
    if (taken > 0) this.#put(at, length + taken, bytes, from, taken, start + taken)
    return taken
  }

  #add(code: number, bytes: Buffer, from: number, start: number): number {
    const at = this.#used
    const taken = Math.min(bytes.length - from, MAX_RECORD_BYTES)
    this.#reserve(at + RECORD_HEADER_BYTES)
    this.#bytes[at] = code
    this.#used = at + RECORD_HEADER_BYTES
    this.#lastOffset = at
    this.#put(at, taken, bytes, from, taken, start + taken)
    return taken
  }

  #addTime(time: number): void {
    const at = this.#used
    this.#reserve(at + RECORD_HEADER_BYTES)
    this.#used = at + RECORD_HEADER_BYTES
    this.#lastOffset = -1
    this.#time = time
    this.#bytes[at] = TIME
    this.#writeHeader(at, 0, time)
  }

  #put(at: number, length: number, bytes: Buffer, from: number, taken: number, seq: number): void {
    this.#reserve(this.#used + taken)
    bytes.copy(this.#bytes, this.#used, from, from + taken)
    this.#used += taken
    this.#writeHeader(at, length, seq)
    this.#lastSeq = seq
  }

  #writeHeader(at: number, length: number, value: number): void {
    this.#bytes.writeUInt32LE(length, at + 1)
    this.#bytes.writeUInt32LE(value % 0x1_0000_0000, at + SEQ_OFFSET)
    this.#bytes.writeUInt32LE(Math.floor(value / 0x1_0000_0000), at + SEQ_OFFSET + 4)
  }

  #reserve(needed: number): void {
    if (needed <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length + Math.min(this.#bytes.length, MAX_GROWTH_BYTES), FIRST_BYTES))
    this.#bytes.copy(larger, 0, 0, this.#used)
    this.#bytes = larger
  }
}
