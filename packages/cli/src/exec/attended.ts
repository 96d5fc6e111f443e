/**
 * A command that is attended from its start to its end: the server kills it when we are gone, it waits for whoever reads slowly, and its
 * output comes byte for byte.
 *
 * It may be fed from a stream while it runs, endless if need be: the stream is read as fast as the command reads.
 */
import { isHoldfastError } from '@holdfast/protocol/errors'
import type { ExecOptions, Execution, Holdfast } from '@holdfast/sdk'
import { note } from '../failure.ts'
import { write } from '../output/print.ts'
import { startSpinner } from '../spinner.ts'
import { commandEnd } from '../terminal/terminal-end.ts'
import type { StopSignals } from './stop-signals.ts'

/** A program may end, or close its stdin, without having read everything. */
const ENDED = ['execution_ended', 'not_interactive', 'session_closed', 'request_cancelled']

/** A server that stops takes no more calls. */
const STOPPING = ['server_unreachable', 'server_stopping']

/** `pieces`: its stdin, if it has any. */
export async function attended(
  holdfast: Holdfast,
  options: ExecOptions,
  pieces: AsyncIterable<Uint8Array> | null,
  stop: StopSignals,
): Promise<number> {
  const spinner = startSpinner('making the session ready')
  const over = new AbortController()
  const failing = new AbortController()
  try {
    const result = await holdfast.exec({
      ...options,
      interactive: pieces !== null,
      signal: AbortSignal.any([stop.leaving, failing.signal]),
      onOutput: ({ type, bytes }) => write(bytes, type === 'stdout' ? process.stdout : process.stderr),
      onStarted({ executionId, session }) {
        spinner.stop()
        if (session.notice !== null) note(session.notice)
        const found = holdfast.sessions.get(session.id).then(({ commands }) => commands.connect(executionId))
        found.catch(() => undefined)
        stop.onStop(async () => (await found).kill())
        if (pieces !== null) feed(found, pieces, over.signal).catch((error: unknown) => failing.abort(error))
      },
    })
    return commandEnd(result)
  } finally {
    spinner.stop()
    over.abort()
  }
}

/** Rejects when input cannot be delivered to a command that still runs. */
async function feed(found: Promise<Execution>, pieces: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
  let isWhole = false
  try {
    for await (const bytes of pieces) {
      await (await found).write(bytes, { signal, timeoutMs: Infinity })
      if (signal.aborted) return
    }
    isWhole = true
    await (await found).closeStdin({ signal, timeoutMs: Infinity })
  } catch (error) {
    if (signal.aborted || isOneOf(ENDED, error)) return
    // Nothing is missing but the word that no more comes, and the server waits for the command all the same.
    if (isWhole && isOneOf(STOPPING, error)) return
    throw error
  }
}

function isOneOf(codes: readonly string[], error: unknown): boolean {
  return isHoldfastError(error) && codes.includes(error.code)
}
