/**
 * How long sessions live, from the settings: seconds for people, milliseconds inside.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import type { SessionTimes } from './lifecycle/creation.ts'

/** Of a session whose scope says nothing of its own. */
const IDLE_SECONDS = 300

export interface TimeSettings {
  /** `null`: what the scope says. */
  readonly idleSeconds: number | null
  readonly leaseSeconds: number | null
  readonly lifetimeSeconds: number | null
  readonly retentionSeconds: number
  readonly recordSeconds: number
}

/** A setting holds for every scope; without one, each scope's own idle time does. */
export function sessionTimes(settings: TimeSettings): SessionTimes & { readonly isIdleFixed: boolean } {
  const { idleSeconds, leaseSeconds, lifetimeSeconds, retentionSeconds, recordSeconds } = settings
  return {
    onIdle: 'suspend',
    idleMs: (idleSeconds ?? IDLE_SECONDS) * 1000,
    isIdleFixed: idleSeconds !== null,
    leaseMs: leaseSeconds === null ? null : leaseSeconds * 1000,
    lifetimeMs: lifetimeSeconds === null ? null : lifetimeSeconds * 1000,
    retentionMs: retentionSeconds * 1000,
    recordMs: recordSeconds * 1000,
  }
}
