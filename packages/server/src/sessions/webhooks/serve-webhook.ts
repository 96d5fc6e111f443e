/**
 * Brings one webhook up to date: its next events, one after the other, each until it is taken or given up.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * The cursor moves only after the receiver's answer, so that a crash repeats an event and never skips one. Every step is
 * a change of the row as it was read: who finds it changed (paused, removed, claimed by another server) stops at once.
 */
import { isHoldfastError } from '@holdfast/protocol'
import type { Sealing } from '../../home/sealing.ts'
import type { Sql, Store } from '../../store/store.ts'
import { eventsOfTenant, lastPlace, placeAfterTurn, turnOf } from '../../store/tables/events.ts'
import type { PlacedEvent } from '../../store/tables/events.ts'
import { updateWebhook } from '../../store/tables/webhooks.ts'
import type { WebhookChange, WebhookRow } from '../../store/tables/webhooks.ts'
import type { WebhookObserver } from '../../telemetry/observations.ts'
import { viewEvent } from '../events/event-view.ts'
import { deliver } from './deliver.ts'
import { afterFailure } from './retry.ts'
import { signedHeaders } from './signature.ts'
import type { TargetGuard } from './target-guard.ts'
import { targetUrl } from './webhook-target.ts'

const PAGE = 50

export interface ServeNeeds {
  readonly store: Store
  readonly sealing: Sealing
  readonly guard: TargetGuard
  readonly clock: () => number
  /** From 0 up to 1. */
  readonly random: () => number
  readonly timeoutMs: number
  readonly observer?: WebhookObserver
}

/** `true` when there may be more to do at once. */
export async function serveWebhook(needs: ServeNeeds, webhook: WebhookRow, signal: AbortSignal): Promise<boolean> {
  const { store, clock, timeoutMs } = needs
  const change = async (row: WebhookRow, to: WebhookChange) =>
    await store.write((transaction) => updateWebhook(transaction, row, to), 'process')
  /** Outlasts one attempt by far, and is renewed with each. */
  const claimed = () => clock() + 6 * timeoutMs

  const { events, end } = await store.read((sql) => nextEvents(sql, webhook))
  if (events.length === 0) {
    if (end > webhook.position) await change(webhook, { position: end })
    return false
  }
  let row = await change(webhook, { nextAt: claimed() })
  for (const [index, event] of events.entries()) {
    if (row === null) return false
    const problem = await attempt(needs, row, event, signal)
    const turn = turnOf(store.dialect, event.place)
    const following = events[index + 1]
    if (signal.aborted && problem !== null) {
      await change(row, { nextAt: clock() })
      return false
    }
    needs.observer?.webhookTried(problem === null)
    const isTurnOver = following === undefined || turnOf(store.dialect, following.place) !== turn
    const taken: WebhookChange = {
      ...(isTurnOver ? { position: turn, attempts: 0 } : {}),
      nextAt: following === undefined ? clock() : claimed(),
    }
    if (problem === null) row = await change(row, taken)
    else {
      const { isGivenUp, ...failure } = afterFailure({ event, attempts: row.attempts, problem, now: clock(), random: needs.random })
      row = await change(row, isGivenUp ? { ...taken, lastProblem: failure.lastProblem } : failure)
      if (!isGivenUp) return false
      needs.observer?.webhookEventGivenUp()
    }
  }
  return row !== null
}

/** Whole turns, because the cursor cannot stand inside one; `end` is the last turn of the tenant. */
async function nextEvents(sql: Sql, webhook: WebhookRow): Promise<{ readonly events: readonly PlacedEvent[]; readonly end: number }> {
  const { tenantId, position, types } = webhook
  const { dialect } = sql
  const after = placeAfterTurn(dialect, position)
  const end = turnOf(dialect, await lastPlace(sql, tenantId))
  for (let limit = PAGE; ; limit *= 2) {
    const events = await eventsOfTenant(sql, { tenantId, owner: null, groups: [] }, after, limit, types)
    const last = events.at(-1)
    if (last === undefined || events.length < limit) return { events, end }
    const lastTurn = turnOf(dialect, last.place)
    const whole = events.filter(({ place }) => turnOf(dialect, place) !== lastTurn)
    if (whole.length > 0) return { events: whole, end }
  }
}

async function attempt(needs: ServeNeeds, webhook: WebhookRow, event: PlacedEvent, signal: AbortSignal): Promise<string | null> {
  const { sealing, guard, clock, timeoutMs } = needs
  try {
    const secret = sealing.open(webhook.secret, webhook.id)
    const body = JSON.stringify(viewEvent(event))
    return await deliver(
      { url: targetUrl(sealing, webhook), headers: signedHeaders(secret, event.id, clock(), body), body, guard, timeoutMs },
      signal,
    )
  } catch (error) {
    // A secret of another key, an event that cannot be read: this one fails, the others go on.
    if (isHoldfastError(error)) return error.message
    throw error
  }
}
