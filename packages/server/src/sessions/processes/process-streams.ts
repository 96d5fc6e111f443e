/**
 * The two ends of a named process that runs: what it prints, for one reader who may hold it up, and its stdin.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * For doors that pass a process on whole, e.g. to a client that talks to it by lines. The log of a process forgets what is old; a reader
 * here makes the process wait instead.
 */
import type { Caller } from '../caller.ts'
import type { OnChunk } from '../executions/executions.ts'
import type { OnDoubt } from '../executions/live-input.ts'
import type { OutputLog } from '../executions/output-log.ts'
import { findRunning, inputOf } from '../interaction.ts'
import type { InteractionNeeds } from '../interaction.ts'
import type { CommandEnd } from '../executions/executions.ts'

export interface ProcessStream {
  readonly log: OutputLog
  /** The stored end. Rejects with `server_stopping` when this server lets go of it: it runs on. */
  readonly ended: Promise<CommandEnd>
  /** From now on this reader sees each chunk, and the one before none. Gives the number after which they begin. */
  listen(onChunk: OnChunk): number
  /** Resolves once it is on its way; a program that does not read makes it wait. */
  write(pieces: readonly Uint8Array[], signal: AbortSignal, onDoubt: OnDoubt): Promise<void>
}

export interface ProcessStreams {
  /** Throws `execution_ended`, `session_elsewhere`, `session_unavailable` or `not_found`. */
  open(caller: Caller, sessionId: string, executionId: string): Promise<ProcessStream>
}

export function createProcessStreams(needs: InteractionNeeds): ProcessStreams {
  const { reads, activity } = needs
  return {
    async open(caller, sessionId, executionId) {
      const session = await reads.open(caller, 'exec', sessionId)
      const running = await findRunning(needs, session, executionId)
      const { log, ended, reader } = running
      return {
        log,
        ended,
        listen(onChunk) {
          reader?.listen(onChunk)
          return log.seq
        },
        async write(pieces, signal, onDoubt) {
          activity.note(running.session)
          await inputOf(running).send(pieces, signal, onDoubt)
        },
      }
    },
  }
}
