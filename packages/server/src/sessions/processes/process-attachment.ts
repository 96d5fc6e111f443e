/**
 * One client's hold on a managed process: it waits for its turn, then the process's lines are its own until it leaves.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import type { OnDoubt } from '../executions/live-input.ts'
import type { HeldProcess } from './process-outputs.ts'

const NEWLINE = Buffer.from('\n')

export interface ProcessAttachment {
  /** One line each with its end; whoever takes the next has confirmed the one before. */
  readonly lines: AsyncIterable<string>
  /** The next line in UTF-8, to be confirmed; `null` when there is no more, or the hold is over. */
  next(): Promise<Buffer | null>
  /** So many bytes of lines are on their way. */
  sent(bytes: number): void
  /** The oldest line that was not confirmed yet has arrived. One that never is goes to the next client. */
  confirm(): void
  /** One line, whose end is added. Resolves when the process has room for more; `onDoubt` hears when it may not have arrived. */
  write(text: string | Uint8Array, onDoubt: OnDoubt): Promise<void>
  /** The same for whole lines, in pieces. */
  writeLines(pieces: readonly Uint8Array[], onDoubt: OnDoubt): Promise<void>
  /** Rejects with `server_stopping` when this server lets go of the process: it runs on. */
  readonly ended: Promise<void>
  close(): void
}

export function attachTo({ output, stream, line }: HeldProcess, onDetached: () => void): ProcessAttachment {
  const over = new AbortController()
  const { signal } = over
  const left = Promise.withResolvers<void>()
  const turn = line.last.then(() => {
    if (signal.aborted) return left.resolve()
    line.attached += 1
    output.watch()
  })
  let hasTurn = false
  void turn.then(() => (hasTurn = !signal.aborted))
  line.last = left.promise
  const ended = stream.ended.then(() => undefined)
  // That the server lets go of it is for those who ask.
  ended.catch(() => undefined)

  async function next(): Promise<Buffer | null> {
    if (!hasTurn) await turn
    return output.next(signal)
  }

  async function* lines(): AsyncGenerator<string, void, void> {
    for (let bytes = await next(); bytes !== null; bytes = await next()) {
      yield bytes.toString('utf8')
      output.sent(bytes.length)
      output.confirm()
    }
  }

  async function writeLines(pieces: readonly Uint8Array[], onDoubt: OnDoubt): Promise<void> {
    if (!hasTurn) await turn
    await stream.write(pieces, signal, onDoubt)
  }

  return {
    lines: lines(),
    next,
    sent(bytes) {
      if (!signal.aborted) output.sent(bytes)
    },
    confirm() {
      // What arrives too late goes to the next one, and is theirs to confirm.
      if (!signal.aborted) output.confirm()
    },
    ended,
    write: (text, onDoubt) => writeLines([typeof text === 'string' ? Buffer.from(text) : text, NEWLINE], onDoubt),
    writeLines,
    close() {
      if (signal.aborted) return
      over.abort()
      if (!hasTurn) return
      line.attached -= 1
      output.unwatch()
      onDetached()
      left.resolve()
    },
  }
}
