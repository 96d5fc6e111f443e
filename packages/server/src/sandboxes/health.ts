/**
 * Whether a sandbox still answers, asked as rarely as possible.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * Anything heard from the guest lately is proof enough, so a busy sandbox is never pinged. Callers that ask at the same
 * time share one ping.
 */

/** Any answer of the guest within this time counts as healthy. */
export const SKIP_MS = 30_000

/** Running totals for metrics; one object may serve every sandbox of a server. */
export interface HealthCounts {
  /** Checks asked for, those that shared a running one included. */
  checks: number
  /** Answered from what was heard lately. */
  skipped: number
  /** The ping went unanswered. */
  failures: number
  /** Lost connections that were replaced. */
  reconnects: number
}

export function healthCounts(): HealthCounts {
  return { checks: 0, skipped: 0, failures: 0, reconnects: 0 }
}

export interface HealthNeeds {
  readonly counts: HealthCounts
  readonly skipMs: number
  /** When the guest was heard last on the open connection; `null` while there is none. */
  heardAt(): number | null
  /** Rejects when the guest does not answer in time. */
  ping(): Promise<void>
  /** Resolves with whether there is a working connection in the end. */
  recover(): Promise<boolean>
}

/** A function that checks one sandbox; `now` and `heardAt` are of the same clock. */
export function createHealthCheck({ counts, skipMs, heardAt, ping, recover }: HealthNeeds): (now: number) => Promise<boolean> {
  let running: Promise<boolean> | null = null

  async function ask(isConnected: boolean): Promise<boolean> {
    if (!isConnected) return recover()
    try {
      await ping()
      return true
    } catch {
      // Decision: why it did not answer makes no difference to what is done about it.
      counts.failures += 1
      return recover()
    }
  }

  return (now) => {
    counts.checks += 1
    const heard = heardAt()
    // A clock that was set back must not make an old answer look fresh for ever.
    if (heard !== null && Math.abs(now - heard) < skipMs) {
      counts.skipped += 1
      return Promise.resolve(true)
    }
    running ??= ask(heard !== null).finally(() => (running = null))
    return running
  }
}
