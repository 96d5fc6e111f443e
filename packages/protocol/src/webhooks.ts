/**
 * Webhooks on the wire: where a tenant's events are sent.
 *
 * The secret is shown once, in the answer to the creation.
 */
import { z } from 'zod'
import { EventType } from './events.ts'

export const CreateWebhookBody = z.strictObject({
  url: z.string({ error: 'must be an address such as https://example.com/hook' }).min(1, { error: 'must not be empty' }).max(2048, {
    error: 'must be at most 2048 characters',
  }),
  /** Left out: every type. */
  types: z.array(EventType).max(64, { error: 'must name at most 64 types' }).default([]),
})

export const WebhookView = z.object({
  id: z.string(),
  url: z.string(),
  /** Empty: every type. */
  types: z.array(z.string()),
  state: z.enum(['active', 'paused']),
  /** How often the next event has been tried in vain. */
  attempts: z.int(),
  last_problem: z.string().nullable(),
  created_at: z.iso.datetime(),
  created_by: z.string(),
})
export type WebhookView = z.output<typeof WebhookView>

export const CreatedWebhookView = WebhookView.extend({ secret: z.string() })
export const WebhookList = z.object({ items: z.array(WebhookView) })
