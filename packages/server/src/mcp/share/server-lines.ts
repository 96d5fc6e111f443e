/**
 * The two streams of a server in its sandbox, and how messages are written to it: in their order, at its pace.
 *
 * ingress → [mcp] → access → policy → sessions → sandboxes → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'
import { encoded, partsOf } from './large-json.ts'
import type { JsonText } from './large-json.ts'

/** What a process prints and takes. Those of a sandbox and those of a child process fit. */
export interface ServerLines {
  /** The next bytes that it printed, with the newlines in them; `null` when there is no more. */
  next(): Promise<Buffer | null>
  /** Whole lines, in pieces. Resolves when the process can take more; `onDoubt` is called later when some may be missing. */
  write(pieces: readonly Uint8Array[], onDoubt: (error: unknown) => void): Promise<void>
  /** Settles when the process is over: with how it ended, where that is known; rejects when only the contact to it is lost. */
  readonly ended: Promise<unknown>
  close(): void
  /** So many bytes of what was taken need no room any more. */
  sent?(bytes: number): void
  /** The oldest bytes that were taken have arrived, and are not needed a second time. */
  confirm?(): void
}

export interface Outgoing {
  /** Resolves once it is written. One that is given up while it still waits is never written. */
  send(text: JsonText, wanted?: Wanted): Promise<void>
}

/** Whoever may give up what waits. */
interface Wanted {
  readonly isOver: boolean
}

interface Waiting {
  readonly text: JsonText
  readonly wanted: Wanted | undefined
  readonly written: PromiseWithResolvers<void>
}

const MAXIMUM_MESSAGES = 8192
/** What is written at once when several wait. */
const BATCH_CHARACTERS = 65_536

export interface OutgoingNeeds {
  readonly lines: Pick<ServerLines, 'write'>
  readonly maximumBytes: number
  /** Nobody can say whether what was written last has arrived. */
  readonly onDoubt: (error: unknown) => void
}

/** A server that does not read holds up its callers, and no more than `maximumBytes` of what they say. */
export function outgoingTo({ lines, maximumBytes, onDoubt }: OutgoingNeeds): Outgoing {
  let waiting: Waiting[] = []
  let waitingSize = 0
  let isWriting = false

  /** Those that are still wanted, from the oldest on. */
  function nextBatch(): Waiting[] {
    const batch: Waiting[] = []
    let size = 0
    let taken = 0
    for (const entry of waiting) {
      if (batch.length > 0 && size + entry.text.length > BATCH_CHARACTERS) break
      taken += 1
      waitingSize -= entry.text.length
      if (entry.wanted?.isOver === true) entry.written.resolve()
      else {
        batch.push(entry)
        size += entry.text.length
      }
    }
    waiting = waiting.slice(taken)
    return batch
  }

  async function write(): Promise<void> {
    isWriting = true
    for (let batch = nextBatch(); batch.length > 0; batch = nextBatch()) {
      try {
        const parts = batch.flatMap(({ text }) => [...partsOf(text), '\n'])
        await lines.write(encoded(parts), onDoubt)
        for (const { written } of batch) written.resolve()
      } catch (error) {
        for (const { written } of batch) written.reject(error)
      }
    }
    isWriting = false
  }

  return {
    send(text, wanted) {
      if (waiting.length >= MAXIMUM_MESSAGES || (waiting.length > 0 && waitingSize + text.length > maximumBytes))
        return Promise.reject(
          new HoldfastError('capacity_exhausted', `the MCP server does not read: ${waiting.length} messages wait for it`),
        )
      const written = Promise.withResolvers<void>()
      waiting.push({ text, wanted, written })
      waitingSize += text.length
      if (!isWriting) void write()
      return written.promise
    },
  }
}
