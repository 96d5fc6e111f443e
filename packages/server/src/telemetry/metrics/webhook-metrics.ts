/**
 * Webhooks: attempts to hand over an event, and events that were given up.
 *
 * Stands beside the flow.
 */
import { Counter } from 'prom-client'
import type { Registry } from 'prom-client'
import type { WebhookObserver } from '../observations.ts'
import { countedBy } from './counted-by.ts'

export function webhookMetrics(registry: Registry): WebhookObserver {
  const tried = countedBy(registry, ['taken', 'failed'], {
    name: 'holdfast_webhook_attempts_total',
    help: 'Attempts to hand an event to a webhook, by how they ended.',
    label: 'outcome',
  })
  const givenUp = new Counter({
    name: 'holdfast_webhook_events_given_up_total',
    help: 'Events that a webhook will not get, because it was tried too often in vain.',
    registers: [registry],
  })
  return {
    webhookTried: (isTaken) => tried(isTaken ? 'taken' : 'failed'),
    webhookEventGivenUp: () => givenUp.inc(),
  }
}
