/**
 * Ctrl-C while something is followed: it ends the following and nothing else.
 */
import { exitCodeOfSignal } from './exit-code.ts'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

export interface Interruption {
  readonly signal: AbortSignal
  /** Sets the exit code when it was interrupted; otherwise the error is a real one and is thrown. */
  settle(error: unknown): void
  /** Signals do what they usually do again. */
  end(): void
}

/** A second Ctrl-C ends the program at once. */
export function interruption(): Interruption {
  const controller = new AbortController()
  let exitCode: number | null = null
  const stop = (name: NodeJS.Signals) => {
    if (exitCode !== null) process.exit(exitCode)
    exitCode = exitCodeOfSignal(name)
    controller.abort()
  }
  for (const name of SIGNALS) process.on(name, stop)
  return {
    signal: controller.signal,
    settle(error) {
      if (exitCode === null) throw error
      process.exitCode = exitCode
    },
    end() {
      for (const name of SIGNALS) process.off(name, stop)
    },
  }
}
