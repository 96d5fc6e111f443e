/**
 * Runs the audit verification for API callers: one walk at a time, shared by those who wait for it.
 *
 * A walk that has begun may have passed records that a later caller means, so callers who arrive during a walk share the next one. A walk is
 * aborted when all its callers have disconnected.
 */
import type { Store } from '../../store/store.ts'
import type { ChainPlace } from './audit-record.ts'
import { checkPlace } from './check-place.ts'
import type { AuditProblem, Report } from './check-place.ts'
import { verifyAudit } from './verify.ts'
import type { AuditSummary } from './verify.ts'

const SHOWN_PROBLEMS = 100

export interface AuditVerdict extends AuditSummary {
  /** The first problems of the walk, then those of the caller's heads. */
  readonly items: readonly AuditProblem[]
}

export interface AuditVerifier {
  /** `known` are heads of chains that the caller kept elsewhere. */
  verify(known: readonly ChainPlace[], signal: AbortSignal): Promise<AuditVerdict>
}

interface Walk {
  readonly verdict: Promise<AuditVerdict>
  readonly aborted: AbortController
  callers: number
}

export function createAuditVerifier({ store }: { readonly store: Store }): AuditVerifier {
  let last: Promise<unknown> = Promise.resolve()
  let waiting: Walk | null = null

  function nextWalk(): Walk {
    if (waiting !== null) return waiting
    const aborted = new AbortController()
    const begin = async () => {
      waiting = null
      const items: AuditProblem[] = []
      const summary = await verifyAudit({ store, report: upTo(items), signal: aborted.signal })
      return { ...summary, items }
    }
    const walk: Walk = { verdict: last.then(begin), aborted, callers: 0 }
    waiting = walk
    last = walk.verdict.catch(() => undefined)
    return walk
  }

  return {
    async verify(known, signal) {
      const walk = nextWalk()
      walk.callers += 1
      const verdict = await untilAborted(walk, signal)
      const items = [...verdict.items]
      let { problems } = verdict
      const report: Report = (problem) => {
        problems += 1
        upTo(items)(problem)
      }
      for (const place of known) await store.read((sql) => checkPlace(sql, place, 'a head kept elsewhere', report))
      return { ...verdict, problems, items }
    },
  }
}

function upTo(items: AuditProblem[]): Report {
  return (problem) => void (items.length < SHOWN_PROBLEMS && items.push(problem))
}

async function untilAborted(walk: Walk, signal: AbortSignal): Promise<AuditVerdict> {
  const left = Promise.withResolvers<never>()
  const leave = () => {
    walk.callers -= 1
    if (walk.callers === 0) walk.aborted.abort(signal.reason)
    left.reject(signal.reason)
  }
  if (signal.aborted) leave()
  else signal.addEventListener('abort', leave, { once: true })
  try {
    return await Promise.race([walk.verdict, left.promise])
  } finally {
    signal.removeEventListener('abort', leave)
  }
}
