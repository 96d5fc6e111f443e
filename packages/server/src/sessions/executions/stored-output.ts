/**
 * The kept output of an execution that has ended: a blob from its row, or its files.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'
import { OutputFileReader, removeOutputFiles } from './output-files.ts'
import { PageBuilder } from './output-page.ts'
import type { OutputPage } from './output-page.ts'
import { FILE_HEADER_BYTES, parseRecords, readFileHeader } from './output-record.ts'
import type { StoredChunk } from './output-record.ts'

/** The kept output of an execution, whether it still runs or has ended. */
export interface StoredOutput {
  /** Sequence number after everything printed so far, kept or not. */
  readonly seq: number
  /** What is kept after that number, at most about `limitBytes` of it (default: everything). An `after` beyond the end gives an empty page. */
  read(after: number, limitBytes?: number): Promise<OutputPage>
  /** Deletes its files, if any. Safe to call twice. */
  remove(): Promise<void>
}

export interface StoredOutputNeeds {
  readonly directory: string
  readonly id: string
  /** From the execution's row. */
  readonly blob: Uint8Array | null
  /** From the execution's row: its `output_seq`. */
  readonly seq: number
  /** From the execution's row: its `started_at`. */
  readonly startTime: number
}

/** The output of an execution that has ended. Reading a blob that is damaged throws `store_corrupt`. */
export function openStoredOutput({ blob, seq, startTime, ...place }: StoredOutputNeeds): StoredOutput {
  return {
    seq,
    read: async (after, limitBytes) => {
      const page = new PageBuilder(after, limitBytes)
      if (blob === null) await addFromFiles(page, new OutputFileReader(place, startTime), seq)
      else page.add(decodeBlob(blob, seq, startTime))
      return page.finish(seq)
    },
    remove: () => removeOutputFiles(place),
  }
}

/** Nothing in a blob is believed: one that is not exactly what `close` gives is refused. */
function decodeBlob(blob: Uint8Array, seq: number, startTime: number): readonly StoredChunk[] {
  if (blob.length === 0) return []
  const bytes = Buffer.from(blob.buffer, blob.byteOffset, blob.byteLength)
  const { chunks, endOffset } = parseRecords(bytes, FILE_HEADER_BYTES, 0, startTime)
  const isWhole = readFileHeader(bytes) === 0 && endOffset === bytes.length && (chunks.at(-1)?.seq ?? 0) <= seq
  if (!isWhole) throw new HoldfastError('store_corrupt', `the stored output of ${blob.length} bytes is damaged at byte ${endOffset}`)
  return chunks
}

/** Until `endSeq` is reached, the page is full, or there are no more. */
export async function addFromFiles(page: PageBuilder, reader: OutputFileReader, endSeq: number): Promise<void> {
  while (page.seq < endSeq && !page.isFull) {
    const chunks = await reader.next(page.seq)
    if (chunks.length === 0) return
    page.add(chunks)
  }
}
