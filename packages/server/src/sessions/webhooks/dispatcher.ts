/**
 * Hands events to the webhooks that are due, while the server runs.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Woken by events of this process, and by a slow poll for those of other servers and for retries. Webhooks are served side by side, each in
 * order. What is in memory only makes it prompt: everything that counts is in the rows.
 */
import type { Store } from '../../store/store.ts'
import { dueWebhooks } from '../../store/tables/webhooks.ts'
import type { WebhookRow } from '../../store/tables/webhooks.ts'
import { errorText } from '../../telemetry/log.ts'
import type { Log } from '../../telemetry/log.ts'
import type { EventListeners } from '../events/event-listeners.ts'
import { serveWebhook } from './serve-webhook.ts'
import type { ServeNeeds } from './serve-webhook.ts'

const POLL_MS = 1000
/** Many events in a moment make one look at the webhooks. */
const GATHER_MS = 50
const MOST_AT_ONCE = 64
const TIMEOUT_MS = 10_000
const PAGE = 100

export interface WebhookDispatcher {
  /** Ends what is under way; an event that was cut off is sent again after the next start. Safe to call twice. */
  stop(): Promise<void>
}

export interface DispatcherNeeds extends Omit<ServeNeeds, 'timeoutMs'> {
  readonly store: Store
  readonly listeners: EventListeners
  readonly log: Log
  readonly timeoutMs?: number
  readonly pollMs?: number
}

export function startWebhookDispatcher({ listeners, log, pollMs = POLL_MS, ...needs }: DispatcherNeeds): WebhookDispatcher {
  const { store, clock } = needs
  const serveNeeds: ServeNeeds = { ...needs, timeoutMs: needs.timeoutMs ?? TIMEOUT_MS }
  const stopping = new AbortController()
  const busy = new Map<string, Promise<void>>()
  /** Tenants with new events; `null` when every webhook is to be looked at. */
  let woken: Set<string> | null = null
  let timer: NodeJS.Timeout | undefined
  let looking: Promise<void> | null = null

  const serve = async (webhook: WebhookRow) => {
    try {
      if (await serveWebhook(serveNeeds, webhook, stopping.signal)) wake(webhook.tenantId)
    } catch (error) {
      log.warn('webhook-not-served', { webhook: webhook.id, error: errorText(error) })
    } finally {
      busy.delete(webhook.id)
    }
  }

  const look = async (tenants: ReadonlySet<string> | null) => {
    let after = ''
    for (let isMore = true; isMore;) {
      const due = await store.read((sql) => dueWebhooks(sql, clock(), after, PAGE))
      for (const webhook of due) {
        if (busy.size >= MOST_AT_ONCE) await Promise.race(busy.values())
        if (stopping.signal.aborted) return
        const isMeant = tenants === null || tenants.has(webhook.tenantId)
        if (isMeant && !busy.has(webhook.id)) busy.set(webhook.id, serve(webhook))
      }
      after = due.at(-1)?.id ?? after
      isMore = due.length === PAGE
    }
  }

  const run = async () => {
    const tenants = woken
    woken = new Set()
    try {
      await look(tenants)
    } catch (error) {
      log.warn('webhooks-not-read', { error: errorText(error) })
    }
    looking = null
    if (hasWork()) plan()
  }

  const hasWork = () => woken === null || woken.size > 0

  function plan(): void {
    if (timer !== undefined || looking !== null || stopping.signal.aborted) return
    timer = setTimeout(() => {
      timer = undefined
      looking = run()
    }, GATHER_MS)
  }

  function wake(tenantId: string): void {
    woken?.add(tenantId)
    plan()
  }

  const deafen = listeners.listenToAll(wake)
  const poll = setInterval(() => {
    woken = null
    plan()
  }, pollMs)
  plan()

  return {
    async stop() {
      deafen()
      stopping.abort()
      clearInterval(poll)
      clearTimeout(timer)
      await looking
      await Promise.all(busy.values())
    },
  }
}
