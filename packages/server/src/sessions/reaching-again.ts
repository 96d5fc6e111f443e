/**
 * Sessions whose sandbox a start could not reach, because its backend did not answer: tried again until they are served or lost.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Kept in memory only: the next start would find them again.
 */
import { isHoldfastError } from '@holdfast/protocol'
import type { SessionRef } from '../store/tables/sessions.ts'
import { errorText } from '../telemetry/log.ts'
import type { Log } from '../telemetry/log.ts'
import type { Readiness } from './readiness.ts'
import type { SessionReads } from './session-reads.ts'

export interface ReachingAgain {
  add(ref: SessionRef): void
  /** One try for each. Not to be waited for by what others wait for: a backend may take long to say no. */
  tryAll(): Promise<void>
}

export interface ReachingAgainNeeds {
  readonly reads: SessionReads
  readonly readiness: Pick<Readiness, 'reach'>
  readonly log: Log
}

export function createReachingAgain({ reads, readiness, log }: ReachingAgainNeeds): ReachingAgain {
  const unreached = new Map<string, SessionRef>()
  let underWay: Promise<void> | null = null

  async function tryOne(ref: SessionRef): Promise<void> {
    try {
      const session = await reads.hosted(ref)
      if (session !== null) await readiness.reach(session)
      unreached.delete(ref.id)
    } catch (error) {
      if (isHoldfastError(error, 'session_elsewhere')) unreached.delete(ref.id)
      log.debug('sandbox-not-reached-again', { session: ref.id, error: errorText(error) })
    }
  }

  async function round(): Promise<void> {
    for (const ref of unreached.values()) await tryOne(ref)
  }

  return {
    add: (ref) => void unreached.set(ref.id, ref),
    tryAll() {
      underWay ??= round().finally(() => (underWay = null))
      return underWay
    },
  }
}
