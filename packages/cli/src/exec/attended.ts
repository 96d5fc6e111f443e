/**
 * A command that is attended from its start to its end: the server kills it when we are gone, it waits for whoever reads slowly, and its
 * output comes byte for byte, also over a restart of the server.
 *
 * It may be fed from a stream while it runs, endless if need be: the stream is read as fast as the command reads.
 */
import { isHoldfastError } from '@holdfast/protocol/errors'
import type { ExecOptions, Execution, Holdfast } from '@holdfast/sdk'
import { note } from '../failure.ts'
import { structured, write } from '../output/print.ts'
import type { Format } from '../output/print.ts'
import { wireNames } from '../output/wire-names.ts'
import { startSpinner } from '../spinner.ts'
import { commandEnd } from '../terminal/terminal-end.ts'
import { comeBack, executionOf, isAway } from './come-back.ts'
import type { Started } from './come-back.ts'
import type { StopSignals } from './stop-signals.ts'

/** A program may end, or close its stdin, without having read everything. */
const ENDED = ['execution_ended', 'not_interactive', 'session_closed', 'request_cancelled']

export interface AttendedNeeds {
  /** Its stdin, if it has any. */
  readonly pieces: AsyncIterable<Uint8Array> | null
  readonly stop: StopSignals
  /** One document at the end instead of what it prints. */
  readonly output: Format
}

export async function attended(holdfast: Holdfast, options: ExecOptions, { pieces, stop, output }: AttendedNeeds): Promise<number> {
  const spinner = startSpinner('making the session ready')
  const over = new AbortController()
  const failing = new AbortController()
  const signal = AbortSignal.any([stop.leaving, failing.signal])
  const isShown = output === 'table'
  let started: Started | null = null
  let shownBytes = 0
  try {
    const result = await holdfast.exec({
      ...options,
      interactive: pieces !== null,
      signal,
      async onOutput({ type, bytes }) {
        if (isShown) await write(bytes, type === 'stdout' ? process.stdout : process.stderr)
        shownBytes += bytes.length
      },
      onStarted({ executionId, session }) {
        spinner.stop()
        const place = { sessionId: session.id, executionId }
        started = place
        if (session.notice !== null) note(session.notice)
        const found = executionOf(holdfast, place)
        found.catch(() => undefined)
        stop.onStop(async () => (await found).kill())
        if (pieces !== null) feed(found, pieces, over.signal).catch((error: unknown) => failing.abort(error))
      },
    })
    if (output !== 'table') {
      await write(await structured(wireNames(result), output))
      return commandEnd(result)
    }
    return commandEnd(result, stop.exitCode === null ? started : null)
  } catch (error) {
    if (started === null || !isShown || signal.aborted || !isAway(error)) throw error
    return await comeBack(holdfast, started, shownBytes, signal)
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
    if (isWhole && isAway(error)) return
    throw error
  }
}

function isOneOf(codes: readonly string[], error: unknown): boolean {
  return isHoldfastError(error) && codes.includes(error.code)
}
