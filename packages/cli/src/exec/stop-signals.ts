/**
 * Ctrl-C while a command runs elsewhere: the first one kills the command there, the second one leaves at once.
 */
import { exitCodeOfSignal } from '../exit-code.ts'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const

export interface StopSignals {
  /** Fires at the first signal while nothing runs yet, and when the command cannot be killed. */
  readonly leaving: AbortSignal
  /** What the first signal asks for; `null` before that. */
  readonly exitCode: number | null
  /** From now on the first signal does this. */
  onStop(kill: () => Promise<unknown>): void
  end(): void
}

export function stopSignals(): StopSignals {
  const leaving = new AbortController()
  let exitCode: number | null = null
  let kill: (() => Promise<unknown>) | null = null
  const leave = () => leaving.abort()
  const stop = (name: NodeJS.Signals) => {
    if (exitCode !== null) process.exit(exitCode)
    exitCode = exitCodeOfSignal(name)
    if (kill === null) leave()
    else kill().catch(leave)
  }
  for (const name of SIGNALS) process.on(name, stop)
  return {
    leaving: leaving.signal,
    get exitCode() {
      return exitCode
    },
    onStop(killing) {
      kill = killing
      // It was stopped while it was being started.
      if (exitCode !== null) killing().catch(leave)
    },
    end() {
      for (const name of SIGNALS) process.off(name, stop)
    },
  }
}
