/**
 * The form in which kept output is stored, the same in a row's blob and in a file.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Little-endian. First `HFO1` and a u32: the number of the file in its row of files (0 in a blob). Then records:
 * u8 channel (1 stdout, 2 stderr), u32 length (1 to 65,536), u64 sequence number after its last byte, the bytes. Numbers grow;
 * a jump between records is output that was lost. Reading stops at the first thing that is not a whole, sensible record.
 */
import type { OutputChunk } from '../../guest/inside.ts'

const MAGIC = 0x314f_4648
export const FILE_HEADER_BYTES = 8
export const RECORD_HEADER_BYTES = 13
export const MAX_RECORD_BYTES = 65_536
const SEQ_OFFSET = 5
const FIRST_BYTES = 512
/** Doubling is for small buffers. */
const MAX_GROWTH_BYTES = 262_144

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
  readonly chunks: readonly OutputChunk[]
  /** Where the first thing begins that is not a whole record. */
  readonly endOffset: number
}

/** Whole records whose numbers grow beyond `after`. The chunks share the given memory. */
export function parseRecords(bytes: Buffer, offset: number, after: number): ParsedRecords {
  const chunks: OutputChunk[] = []
  let at = offset
  let seq = after
  while (bytes.length - at >= RECORD_HEADER_BYTES) {
    const channel = bytes[at]
    const length = bytes.readUInt32LE(at + 1)
    const recordSeq = bytes.readUInt32LE(at + SEQ_OFFSET) + bytes.readUInt32LE(at + SEQ_OFFSET + 4) * 0x1_0000_0000
    const end = at + RECORD_HEADER_BYTES + length
    if ((channel !== 1 && channel !== 2) || length === 0 || length > MAX_RECORD_BYTES || end > bytes.length) break
    if (!Number.isSafeInteger(recordSeq) || recordSeq - length < seq) break
    chunks.push({ channel: channel === 1 ? 'stdout' : 'stderr', bytes: bytes.subarray(at + RECORD_HEADER_BYTES, end), seq: recordSeq })
    seq = recordSeq
    at = end
  }
  return { chunks, endOffset: at }
}

/** Records in memory, in their stored form. A chunk that goes on where the last record ended is joined to it. */
export class RecordBuffer {
  #bytes: Buffer = Buffer.alloc(0)
  #used = 0
  #lastOffset = -1
  #lastSeq = 0

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

  append({ channel, bytes, seq }: OutputChunk): void {
    const start = seq - bytes.length
    const code = channel === 'stdout' ? 1 : 2
    for (let from = 0; from < bytes.length;) {
      const taken = this.#join(code, bytes, from, start + from) || this.#add(code, bytes, from, start + from)
      from += taken
    }
  }

  /** Keeps its memory for the next records. */
  clear(): void {
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

  #put(at: number, length: number, bytes: Buffer, from: number, taken: number, seq: number): void {
    this.#reserve(this.#used + taken)
    bytes.copy(this.#bytes, this.#used, from, from + taken)
    this.#used += taken
    this.#bytes.writeUInt32LE(length, at + 1)
    this.#bytes.writeUInt32LE(seq % 0x1_0000_0000, at + SEQ_OFFSET)
    this.#bytes.writeUInt32LE(Math.floor(seq / 0x1_0000_0000), at + SEQ_OFFSET + 4)
    this.#lastSeq = seq
  }

  #reserve(needed: number): void {
    if (needed <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length + Math.min(this.#bytes.length, MAX_GROWTH_BYTES), FIRST_BYTES))
    this.#bytes.copy(larger, 0, 0, this.#used)
    this.#bytes = larger
  }
}
