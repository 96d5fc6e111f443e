/**
 * A process as a pair of line streams, for a part of this server that talks to it: nothing is lost, and memory is bounded.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * One holds a process at a time; the next one waits. Where nobody takes its lines the process waits, as behind a full pipe, once somebody
 * has opened it. After a restart of the server it goes on behind what was confirmed; what was not may come twice.
 */
import type { Caller } from '../caller.ts'
import type { CommandEnd } from '../executions/executions.ts'
import type { OnDoubt } from '../executions/live-input.ts'
import { attachTo } from './process-attachment.ts'
import type { ProcessOutputs, ProcessRef } from './process-outputs.ts'

export interface ProcessLines {
  /** The next line with its end, to be confirmed; one without an end is a piece of a longer one. `null`: no more comes. */
  next(): Promise<Buffer | null>
  /** So many bytes of lines were passed on, and take no room here any more. */
  sent(bytes: number): void
  /** The oldest line that was not confirmed yet is done with. */
  confirm(): void
  /** Whole lines, in pieces. Resolves when the process has room for more; `onDoubt` is called when some may be missing. */
  write(pieces: readonly Uint8Array[], onDoubt: OnDoubt): Promise<void>
  /** How it ended. Rejects with `server_stopping` when this server lets go of the process: it runs on. */
  readonly ended: Promise<CommandEnd>
  /** The end of what it complained of. */
  readonly stderr: string
  /** Lets go of it; it runs on. */
  close(): void
}

/** Throws `execution_ended` and what else keeps it from being reached. */
export type OpenLines = (caller: Caller, ref: ProcessRef, rules: { readonly maximumLineBytes: number }) => Promise<ProcessLines>

export function linesOpener(outputs: ProcessOutputs): OpenLines {
  return async (caller, ref, { maximumLineBytes }) => {
    const held = await outputs.open(caller, ref, { maximumLineBytes, showsPauses: false })
    const { next, sent, confirm, writeLines: write, close } = attachTo(held, () => void outputs.savePlace(ref))
    return {
      ...{ next, sent, confirm, write, close, ended: held.stream.ended },
      get stderr() {
        return held.output.stderr
      },
    }
  }
}
