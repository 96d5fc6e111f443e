/**
 * One command in a live sandbox: started, watched to its end, cancelled when its caller leaves.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * The end is only ever a real one: an exit status from the guest, or `lost` when contact broke. The guest keeps the
 * time-out; should it not (a frozen or hostile guest), the sandbox is destroyed a little later from out here.
 */
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import { execFields } from '../guest/exec-request.ts'
import type { ExecRequest, Execution, OutputChunk } from '../guest/inside.ts'
import type { LiveSandbox } from '../sandboxes/live-sandbox.ts'

/** How much longer than its time-out an execution may stay without an answer from the guest. */
const GUEST_GRACE_MS = 10_000

export interface Command {
  readonly argv: readonly string[]
  readonly cwd?: string | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly stdin?: string | undefined
  readonly timeoutMs: number
}

export interface CommandEnd {
  readonly exitCode: number | null
  readonly signal: string | null
  readonly status: 'completed' | 'timed_out' | 'cancelled' | 'lost'
  readonly durationMs: number
}

export interface RunningCommand {
  /** Reads the output to the end. A slow `onChunk` is back-pressure on the program. Call it once. */
  finish(onChunk: (chunk: OutputChunk) => void | Promise<void>): Promise<CommandEnd>
}

/** Throws `invalid_request` for what no sandbox could start, so that none is made for it. */
export function checkExecRequest(request: ExecRequest): void {
  execFields(request, 0)
}

/** When `signal` fires, before or after the start, the whole process tree is killed. */
export async function startCommand(sandbox: LiveSandbox, command: Command, signal: AbortSignal): Promise<RunningCommand> {
  const startedAt = performance.now()
  const watchdog = setTimeout(() => void sandbox.destroy().catch(ignoreUntilNextStart), command.timeoutMs + GUEST_GRACE_MS)
  try {
    const execution = await sandbox.inside.exec(execRequest(command), signal)
    if (command.stdin !== undefined) void feed(execution, command.stdin)
    return { finish: (onChunk) => finish(execution, onChunk) }
  } catch (error) {
    clearTimeout(watchdog)
    if (signal.aborted) throw new HoldfastError('request_cancelled', 'the caller left before the command was started', {}, { cause: error })
    throw error
  }

  async function finish(execution: Execution, onChunk: (chunk: OutputChunk) => void | Promise<void>): Promise<CommandEnd> {
    const cancel = () => void killTree(sandbox, execution)
    if (signal.aborted) cancel()
    else signal.addEventListener('abort', cancel, { once: true })
    try {
      const exit = await execution.drain(onChunk)
      sandbox.inside.processes.forget(execution.id)
      const status = exit.timedOut ? 'timed_out' : signal.aborted && exit.killed ? 'cancelled' : 'completed'
      return { exitCode: exit.exitCode, signal: exit.signal, status, durationMs: exit.durationMs }
    } catch (error) {
      if (!isHoldfastError(error, 'guest_unreachable') && !isHoldfastError(error, 'guest_protocol_violated')) {
        await killTree(sandbox, execution)
        throw error
      }
      return { exitCode: null, signal: null, status: 'lost', durationMs: Math.round(performance.now() - startedAt) }
    } finally {
      clearTimeout(watchdog)
      signal.removeEventListener('abort', cancel)
    }
  }
}

export function execRequest(command: Command): ExecRequest {
  return {
    argv: command.argv,
    timeoutMs: command.timeoutMs,
    ...(command.cwd === undefined ? {} : { cwd: command.cwd }),
    ...(command.env === undefined ? {} : { env: command.env }),
    ...(command.stdin === undefined ? {} : { stdin: 'pipe' as const }),
  }
}

async function feed(execution: Execution, text: string): Promise<void> {
  try {
    await execution.stdin.write(Buffer.from(text, 'utf8'))
    execution.stdin.end()
  } catch {
    // A program may end, or close its stdin, without reading everything; how it ended is what `finish` tells.
  }
}

/** A tree that cannot be proved dead takes its sandbox with it. */
async function killTree(sandbox: LiveSandbox, execution: Execution): Promise<void> {
  const isProvedDead = await execution.kill().then(
    (report) => report.verified,
    () => false,
  )
  if (!isProvedDead) await sandbox.destroy().catch(ignoreUntilNextStart)
}

/** What could not be destroyed now is found by its name as an orphan at the next start. */
function ignoreUntilNextStart(): void {}
