/**
 * A command that is fed from a stream while it runs, endless if need be: the stream is read as fast as the command reads.
 *
 * Its output is followed byte for byte. It does not wait for whoever reads slowly, and what was missed then is told as a failure.
 */
import { isHoldfastError } from '@holdfast/protocol'
import type { Execution, Session } from '@holdfast/sdk'
import { EXIT_BROKEN_PIPE, EXIT_OWN_FAILURE } from '../exit-code.ts'
import { note } from '../failure.ts'
import { write } from '../output/print.ts'
import { commandEnd } from '../terminal/terminal-end.ts'
import type { StopSignals } from './stop-signals.ts'

export async function fed(session: Session, execution: Execution, pieces: AsyncIterable<Uint8Array>, stop: StopSignals): Promise<number> {
  stop.onStop(() => execution.kill())
  // The notice of a new sandbox is there until its first command has ended.
  session.reload().then(
    ({ notice }) => (notice === null ? undefined : note(notice)),
    () => undefined,
  )
  const feeding = new AbortController()
  const fails = feed(execution, pieces, feeding.signal)
  const broken = brokenPipe()
  let missed = 0
  try {
    for await (const event of execution.output({ signal: AbortSignal.any([stop.leaving, broken.signal, fails]) })) {
      if (event.type === 'gap') missed += event.skippedBytes
      else if (event.type === 'exit') {
        if (missed === 0) return commandEnd(event.record)
        note(`${missed} bytes of its output were printed faster than they were read here, and are missing`)
        return EXIT_OWN_FAILURE
      } else await write(event.bytes, event.type === 'stdout' ? process.stdout : process.stderr)
    }
    return EXIT_OWN_FAILURE
  } catch (error) {
    // Nobody reads it or feeds it any more.
    await execution.kill().catch(() => undefined)
    if (broken.signal.aborted) return EXIT_BROKEN_PIPE
    throw error
  } finally {
    feeding.abort()
    broken.end()
  }
}

/** Fires with the reason when input cannot be delivered to a command that still runs. */
function feed(execution: Execution, pieces: AsyncIterable<Uint8Array>, signal: AbortSignal): AbortSignal {
  const failing = new AbortController()
  const send = async () => {
    for await (const bytes of pieces) {
      await execution.write(bytes, { signal, timeoutMs: Infinity })
      if (signal.aborted) return
    }
    await execution.closeStdin({ signal, timeoutMs: Infinity })
  }
  send().catch((error: unknown) => {
    if (!signal.aborted && !ENDED.some((code) => isHoldfastError(error) && error.code === code)) failing.abort(error)
  })
  return failing.signal
}

/** A program may end, or close its stdin, without having read everything. */
const ENDED = ['execution_ended', 'not_interactive', 'session_closed']

/** Whoever reads our output has seen enough. */
function brokenPipe(): { readonly signal: AbortSignal; end(): void } {
  const controller = new AbortController()
  const onError = (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') controller.abort(error)
  }
  process.stdout.on('error', onError)
  return { signal: controller.signal, end: () => process.stdout.off('error', onError) }
}
