/**
 * A command that runs on its own: its output can be followed by anybody, for as often as they like, and its end be waited for.
 *
 * Following it changes nothing for the command. A connection that breaks is made again, and what was printed meanwhile is there.
 */
import type { ExecutionView } from '@holdfast/protocol'
import { toBase64 } from './base64.ts'
import { callOf } from './call-options.ts'
import type { CallOptions, StreamOptions } from './call-options.ts'
import type { CommandResult } from './command-result.ts'
import { outputOf } from './exec.ts'
import { followOutput } from './execution-output.ts'
import type { OutputEvent } from './execution-output.ts'
import { executionRecord } from './execution-record.ts'
import type { ExecutionRecord, Killed } from './execution-record.ts'
import { HoldfastError, isHoldfastError } from './errors.ts'
import type { SessionView } from './session-record.ts'
import { createTextCapture } from './text-capture.ts'
import type { Transport } from './transport/transport.ts'
import { snake } from './wire-names.ts'

export interface OutputOptions extends StreamOptions {
  /** Only what was printed after so many bytes; 0 unless given. */
  readonly after?: number | undefined
}

export interface OutputCallbacks {
  /** Whole characters only. The next piece is asked for when this has returned. */
  readonly onStdout?: ((text: string) => void | Promise<void>) | undefined
  readonly onStderr?: ((text: string) => void | Promise<void>) | undefined
}

export interface KillOptions extends CallOptions {
  /** Between asking it to end and killing it. */
  readonly graceMs?: number | undefined
}

export interface Execution {
  readonly id: string
  readonly sessionId: string
  /** How it stands now. */
  get(options?: CallOptions): Promise<ExecutionRecord>
  /**
   * What it printed, as far as it is kept, and what it prints from now on; ends after an `exit`.
   *
   * At least the last MiB is kept. Who reads slower than the program prints skips, and is told so by a `gap`.
   */
  output(options?: OutputOptions): AsyncIterable<OutputEvent>
  /** Waits for its end; the first MiB of each stream is in the result. */
  wait(options?: OutputOptions & OutputCallbacks): Promise<CommandResult>
  /** More input, for one that was started as `interactive`. Resolves when its sandbox has it; `input_uncertain` when nobody knows. */
  write(data: string | Uint8Array, options?: CallOptions): Promise<void>
  /** No more input follows. */
  closeStdin(options?: CallOptions): Promise<void>
  /** `tree`: to everything that it started, too. */
  signal(name: string, options?: CallOptions & { readonly scope?: 'main' | 'tree' | undefined }): Promise<void>
  /** Of one that runs on a terminal. */
  resize(size: { readonly cols: number; readonly rows: number }, options?: CallOptions): Promise<void>
  /** Ends it with everything it started. One that has ended is left as it is. */
  kill(options?: KillOptions): Promise<Killed>
}

export interface ExecutionNeeds {
  readonly transport: Transport
  readonly id: string
  readonly session: SessionView
  /** Fires when its session is let go of. */
  readonly letGo: AbortSignal
}

/** A request's body is at most 2 MiB. */
const PIECE_BYTES = 256 * 1024

export function createExecution({ transport, id, session, letGo }: ExecutionNeeds): Execution {
  const path = `/v1/sessions/${session.id}/executions/${id}`
  const post = (verb: string, json: object, options: CallOptions) =>
    transport.send({ method: 'POST', path: `${path}/${verb}`, json, ...callOf(options) })

  /** Sent once: what was on its way when a connection broke may have arrived, and typing it twice is worse than asking. */
  async function input(json: object, { signal, timeoutMs = Infinity }: CallOptions): Promise<void> {
    try {
      await transport.send({ method: 'POST', path: `${path}/stdin`, json, isOnce: true, signal, timeoutMs })
    } catch (error) {
      throw isHoldfastError(error, 'server_unreachable', 'request_timed_out') ? uncertain(error) : error
    }
  }
  const output = (options: OutputOptions = {}) => followOutput({ transport, path: `${path}/output`, letGo }, options)

  return {
    id,
    sessionId: session.id,
    get: async (options = {}) => executionRecord(await transport.json<ExecutionView>({ path, ...callOf(options) })),
    output,
    async wait({ onStdout, onStderr, ...options } = {}) {
      const captures = { stdout: createTextCapture(), stderr: createTextCapture() }
      for await (const event of output(options)) {
        if (event.type === 'exit') {
          const { exitCode, signal, status, durationMs, timeoutMs, cause } = event.record
          return { ...{ exitCode, signal, status, durationMs, timeoutMs, cause, executionId: id, session }, ...outputOf(captures) }
        }
        if (event.type === 'gap') {
          captures.stdout.miss()
          captures.stderr.miss()
        } else if (event.text !== '') {
          captures[event.type].add(event.text)
          await (event.type === 'stdout' ? onStdout : onStderr)?.(event.text)
        }
      }
      throw new HoldfastError({ code: 'invalid_answer', message: `the output of ${id} ended without an exit` })
    },
    async write(data, options = {}) {
      const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data
      for (let start = 0; start < bytes.length; start += PIECE_BYTES) {
        const piece = bytes.subarray(start, start + PIECE_BYTES)
        await input({ data: toBase64(piece), encoding: 'base64' }, options)
      }
    },
    closeStdin: (options = {}) => input({ close: true }, options),
    signal: (name, { scope, ...options } = {}) => post('signal', snake({ signal: name, scope }), options),
    resize: ({ cols, rows }, options = {}) => post('resize', { cols, rows }, options),
    kill: ({ graceMs, ...options } = {}) =>
      transport.json<Killed>({ method: 'POST', path: `${path}/cancel`, json: snake({ graceMs }), ...callOf(options) }),
  }
}

function uncertain(cause: HoldfastError): HoldfastError {
  return new HoldfastError(
    {
      ...{ code: 'input_uncertain', message: `the connection broke while input was on its way: ${cause.message}`, retry: 'after-change' },
      hint: 'Look at the output, then decide what to send.',
    },
    { cause },
  )
}
