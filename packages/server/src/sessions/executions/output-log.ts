/**
 * What an execution printed, kept after the fact and bounded: at least its last MiB, in constant memory.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Small outputs (up to 8 KiB with their framing) stay in memory and become one blob for the execution's row; a command that
 * prints little and ends soon never touches the disk. Larger ones, and those of executions that still run after 100 ms, go
 * to two rotating files. Readers read what is kept, so a slow one skips and never slows the program.
 *
 * Holds always, for every page: `after + skippedBytes + bytes of the chunks = seq`.
 * Each chunk has the time at which it was received, to a tenth of a second; output of the first tenth has the execution's start time.
 * Lost at `kill -9`: what came within the first 100 ms of a small output; otherwise what came during the write before it and a pause
 * of 20 ms. The guest has its last MiB still in its journal, so whoever attaches again after `seq` gets it from there; what that
 * does not hold any more is a gap, and is told.
 */
import type { OutputChunk } from '../../guest/inside.ts'
import { keptSeqOf, OutputFileWriter, removeOutputFiles } from './output-files.ts'
import type { OutputPage } from './output-page.ts'
import { RunningOutput } from './running-output.ts'
import type { StoredOutput } from './stored-output.ts'

export type { OutputPage } from './output-page.ts'
export type { StoredChunk } from './output-record.ts'
export { keptSeqOf }
export { openStoredOutput } from './stored-output.ts'
export type { StoredOutput, StoredOutputNeeds } from './stored-output.ts'

export interface OutputLog extends StoredOutput {
  readonly isClosed: boolean
  /** Its program waits for who follows it; a follower asks again after `STREAM_BYTES`, to say what it has. */
  readonly isHeld?: boolean
  /** It does so now: there is nothing to follow until somebody asks for what comes after `seq`. */
  readonly isWaiting?: boolean
  /** Keeps a copy. Never throws and never makes a program wait; what cannot be written becomes a gap. */
  append(chunk: OutputChunk): void
  /** Everything up to `seq` that was not appended is lost. */
  skipTo(seq: number): void
  /** Pages of what is kept after that number, then of what comes, until the log is closed. Ends quietly when `signal` fires. */
  follow(after: number, signal?: AbortSignal): AsyncIterable<OutputPage>
  /**
   * No more comes. Gives the blob for the execution's row, or `null` when the output stays in files. After the row is
   * committed with a blob, call `remove`. The log can still be read.
   */
  close(): Promise<Uint8Array | null>
}

export interface OutputLogNeeds {
  /** Exists already; the files are `<directory>/<id>.0` and `.1`. */
  readonly directory: string
  /** The execution's id. */
  readonly id: string
  /** When the execution started; `clock` gives times to compare with it. */
  readonly startTime: number
  readonly clock: () => number
  /** Output could not be written and is lost to later readers. */
  readonly onTrouble?: (error: Error) => void
}

/** A log for an execution that is about to start. Touches nothing. */
export function createOutputLog(needs: OutputLogNeeds): OutputLog {
  return new RunningOutput(needs, null, 0)
}

/**
 * The log of an execution that ran when the server stopped, to append further: attach after its `seq`. Empty when nothing
 * was written down. Its output stays in files.
 */
export async function reopenOutputLog(needs: OutputLogNeeds): Promise<OutputLog> {
  const { writer, seq } = await OutputFileWriter.reopen(needs)
  if (seq > 0) return new RunningOutput(needs, writer, seq)
  await writer.close()
  await removeOutputFiles(needs)
  return createOutputLog(needs)
}
