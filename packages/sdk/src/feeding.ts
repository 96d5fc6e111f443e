/**
 * Input for a program from a stream: piece after piece, as the program takes it, then the end.
 */
import { isHoldfastError } from './errors.ts'
import type { Execution } from './execution.ts'
import { streamOf } from './input.ts'
import type { Content } from './input.ts'

/** A program may end without having read everything. */
const ENDED = ['execution_ended', 'not_interactive', 'not_found', 'session_closed']

export interface Feeding {
  /** Rejects when input could not be delivered although the program still runs. */
  readonly done: Promise<void>
  /** Takes no more from the stream. */
  stop(): void
}

export function feed(execution: Execution, content: Content, signal: AbortSignal): Feeding {
  const reader = streamOf(content).getReader()
  const stop = () => void reader.cancel().catch(() => undefined)
  const run = async () => {
    try {
      for (let read = await reader.read(); !read.done; read = await reader.read()) await execution.write(read.value, { signal })
      if (!signal.aborted) await execution.closeStdin({ signal })
    } catch (error) {
      if (!signal.aborted && !isHoldfastError(error, ...ENDED)) throw error
    } finally {
      stop()
    }
  }
  return { done: run(), stop }
}
