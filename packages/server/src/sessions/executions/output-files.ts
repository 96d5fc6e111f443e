/**
 * Two files that take turns: a writer that appends, and readers that need nothing from it.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * File number n is `<id>.<n mod 2>`. A full one is followed by the next, which takes the place of the one before; so at least
 * FILE_BYTES are always kept, and at most a little over twice as much. A file is replaced, never emptied: whoever has it open reads on
 * undisturbed, and the number in its header tells which one it is. Nothing is synced: it survives the process, not the machine.
 */
import { constants } from 'node:fs'
import { open, rm, stat } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { hasErrorCode } from '../../home/error-code.ts'
import { FILE_HEADER_BYTES, fileHeader, parseRecords, readFileHeader } from './output-record.ts'
import type { ParsedRecords, StoredChunk } from './output-record.ts'

export const FILE_BYTES = 1_048_576
/** What is read at once: room for several of the largest records. */
const STEP_BYTES = 262_144

export interface OutputPlace {
  readonly directory: string
  readonly id: string
}

function pathOf({ directory, id }: OutputPlace, number: number): string {
  return join(directory, `${id}.${number % 2}`)
}

/** Safe to call twice, and for output that has no files. */
export async function removeOutputFiles(place: OutputPlace): Promise<void> {
  await Promise.all([0, 1].map((number) => rm(pathOf(place, number), { force: true })))
}

/** What its files hold; 0 when it has none. */
export async function outputFileBytes(place: OutputPlace): Promise<number> {
  const sizes = await Promise.all(
    [0, 1].map((number) =>
      stat(pathOf(place, number)).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  )
  return sizes.reduce((total, size) => total + size, 0)
}

export class OutputFileWriter {
  readonly #place: OutputPlace
  #handle: FileHandle | null = null
  #number: number
  #size: number

  private constructor(place: OutputPlace, handle: FileHandle | null, number: number, size: number) {
    this.#place = place
    this.#handle = handle
    this.#number = number
    this.#size = size
  }

  /** Makes its first file with the first write. */
  static fresh(place: OutputPlace): OutputFileWriter {
    return new OutputFileWriter(place, null, -1, 0)
  }

  /** Goes on where the files end. What follows the last whole record is cut off. */
  static async reopen(place: OutputPlace): Promise<{ readonly writer: OutputFileWriter; readonly seq: number }> {
    let seq = 0
    const reader = new OutputFileReader(place, 0)
    for (let chunks = await reader.next(seq); chunks.length > 0; chunks = await reader.next(seq)) seq = chunks.at(-1)?.seq ?? seq
    const { position } = reader
    if (position === null) return { writer: OutputFileWriter.fresh(place), seq }
    const handle = await open(pathOf(place, position.number), 'r+')
    try {
      await handle.truncate(position.offset)
    } catch (error) {
      await handle.close()
      throw error
    }
    return { writer: new OutputFileWriter(place, handle, position.number, position.offset), seq }
  }

  /** Whole records; `startsAnew`: older ones are of no more use then. When it rejects, none of them were kept. */
  async write(records: Buffer, startsAnew = false): Promise<void> {
    if (this.#handle === null || this.#size >= FILE_BYTES || startsAnew) await this.#turn()
    const handle = this.#handle
    if (handle === null) return
    try {
      await writeAll(handle, records, this.#size)
    } catch (error) {
      // Half a record must not become the beginning of the next one: it is cut off, or the next one goes to another file.
      await handle.truncate(this.#size).catch(() => (this.#size = FILE_BYTES))
      throw error
    }
    this.#size += records.length
    if (startsAnew) await rm(pathOf(this.#place, this.#number + 1), { force: true })
  }

  async close(): Promise<void> {
    const handle = this.#handle
    this.#handle = null
    await handle?.close()
  }

  async #turn(): Promise<void> {
    const number = this.#number + 1
    const path = pathOf(this.#place, number)
    await rm(path, { force: true })
    const handle = await open(path, 'wx', 0o600)
    try {
      await writeAll(handle, fileHeader(number), 0)
    } catch (error) {
      await handle.close()
      throw error
    }
    await this.close()
    this.#handle = handle
    this.#number = number
    this.#size = FILE_HEADER_BYTES
  }
}

async function writeAll(handle: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, position + done)
    done += bytesWritten
  }
}

interface Position {
  readonly number: number
  readonly offset: number
  /** Of what follows there. */
  readonly time: number
}

/** Reads on from where it was; a writer may be at work. */
export class OutputFileReader {
  readonly #place: OutputPlace
  readonly #startTime: number
  #position: Position | null = null

  /** `startTime`: when the execution started. */
  constructor(place: OutputPlace, startTime: number) {
    this.#place = place
    this.#startTime = startTime
  }

  /** Behind the last record that was read; `null` before the first. */
  get position(): Position | null {
    return this.#position
  }

  /** Some of the next records with numbers beyond `after`; none: there are no more for now. */
  async next(after: number): Promise<readonly StoredChunk[]> {
    for (;;) {
      this.#position ??= await this.#oldest()
      if (this.#position === null) return []
      const { number, offset } = this.#position
      const read = await readStep(this.#place, this.#position)
      if (read !== null && read.endOffset > offset) {
        this.#position = { number, offset: read.endOffset, time: read.time }
        const chunks = read.chunks.filter(({ seq }) => seq > after)
        if (chunks.length > 0) return chunks
        continue
      }
      if (!(await this.#advance(this.#position, read === null))) return []
    }
  }

  async #oldest(): Promise<Position | null> {
    const numbers = (await Promise.all([0, 1].map((slot) => numberOf(this.#place, slot)))).filter((number) => number !== null)
    return numbers.length === 0 ? null : this.#startOf(Math.min(...numbers))
  }

  #startOf(number: number): Position {
    return { number, offset: FILE_HEADER_BYTES, time: this.#startTime }
  }

  /** To the following file, if there is one and this one can grow no more. */
  async #advance(position: Position, isReplaced: boolean): Promise<boolean> {
    const { number, offset } = position
    const following = await numberOf(this.#place, number + 1)
    if (following === number + 1 && !isReplaced) {
      // It may have grown between the reading and the appearance of the next one; now it cannot any more.
      const rest = await readStep(this.#place, position)
      if (rest === null || rest.endOffset === offset) this.#position = this.#startOf(number + 1)
      return true
    }
    if (!isReplaced && (following === null || following < number)) return false
    const oldest = await this.#oldest()
    if (oldest === null || oldest.number <= number) return false
    this.#position = oldest
    return true
  }
}

/** Up to where its output is in files; 0 when there are none. */
export async function keptSeqOf(place: OutputPlace): Promise<number> {
  const reader = new OutputFileReader(place, 0)
  let seq = 0
  for (let chunks = await reader.next(seq); chunks.length > 0; chunks = await reader.next(seq)) seq = chunks.at(-1)?.seq ?? seq
  return seq
}

async function numberOf(place: OutputPlace, slot: number): Promise<number | null> {
  return withFile(pathOf(place, slot), async (handle) => readFileHeader(await readAt(handle, 0, FILE_HEADER_BYTES)))
}

/** `null` when that file is not there any more. */
function readStep(place: OutputPlace, { number, offset, time }: Position): Promise<ParsedRecords | null> {
  return withFile(pathOf(place, number), async (handle) => {
    if (readFileHeader(await readAt(handle, 0, FILE_HEADER_BYTES)) !== number) return null
    const read = parseRecords(await readAt(handle, offset, STEP_BYTES), 0, 0, time)
    return { ...read, endOffset: offset + read.endOffset }
  })
}

async function readAt(handle: FileHandle, offset: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length)
  const { bytesRead } = await handle.read(buffer, 0, length, offset)
  return buffer.subarray(0, bytesRead)
}

async function withFile<T>(path: string, work: (handle: FileHandle) => Promise<T>): Promise<T | null> {
  let handle: FileHandle
  try {
    handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return null
    throw error
  }
  try {
    return await work(handle)
  } finally {
    await handle.close()
  }
}
