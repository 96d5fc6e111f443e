/**
 * `/v1/webhooks`: where a tenant's events are sent.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { CreatedWebhookView, CreateWebhookBody, WebhookList, WebhookView } from '@holdfast/protocol'
import type { Webhook, Webhooks } from '../../sessions/webhooks/webhooks.ts'
import { moment } from './moment.ts'
import { OneId } from './paths.ts'
import { empty, json, route } from './route.ts'
import type { Route } from './route.ts'

export function webhookRoutes({ webhooks }: { readonly webhooks: Webhooks }): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: '/v1/webhooks',
      summary: 'Make a webhook; its secret is shown in this answer and never again',
      authorization: 'manage-webhooks',
      body: CreateWebhookBody,
      answers: { 201: json('CreatedWebhook', CreatedWebhookView, 'A new webhook') },
      errors: ['forbidden', 'quota_exceeded'],
      async handle({ principal, caller, body }) {
        const { webhook, secret } = await webhooks.create(principal.tenantId, body, caller.actor)
        return { status: 201, body: { ...webhookView(webhook), secret } }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/webhooks',
      summary: 'List the webhooks of the tenant',
      authorization: 'manage-webhooks',
      answers: { 200: json('WebhookList', WebhookList, 'All of them; a tenant has few') },
      errors: ['forbidden'],
      handle: async ({ principal }) => ({ status: 200, body: { items: (await webhooks.list(principal.tenantId)).map(webhookView) } }),
    }),
    route({
      method: 'POST',
      path: '/v1/webhooks/{id}/pause',
      summary: 'Send nothing until it is resumed',
      authorization: 'manage-webhooks',
      params: OneId,
      answers: { 200: json('Webhook', WebhookView, 'The paused webhook') },
      errors: ['forbidden', 'not_found'],
      isRepeatable: true,
      handle: async ({ principal, caller, params }) => ({
        status: 200,
        body: webhookView(await webhooks.pause(principal.tenantId, params.id, caller.actor)),
      }),
    }),
    route({
      method: 'POST',
      path: '/v1/webhooks/{id}/resume',
      summary: 'Send again, beginning with the events that gathered',
      authorization: 'manage-webhooks',
      params: OneId,
      answers: { 200: json('Webhook', WebhookView, 'The active webhook') },
      errors: ['forbidden', 'not_found'],
      isRepeatable: true,
      handle: async ({ principal, caller, params }) => ({
        status: 200,
        body: webhookView(await webhooks.resume(principal.tenantId, params.id, caller.actor)),
      }),
    }),
    route({
      method: 'DELETE',
      path: '/v1/webhooks/{id}',
      summary: 'Remove a webhook',
      authorization: 'manage-webhooks',
      params: OneId,
      answers: { 204: empty('It is gone') },
      errors: ['forbidden', 'not_found'],
      async handle({ principal, caller, params }) {
        await webhooks.remove(principal.tenantId, params.id, caller.actor)
        return { status: 204, body: null }
      },
    }),
  ]
}

function webhookView({ id, url, types, state, attempts, lastProblem, createdAt, createdBy }: Webhook): WebhookView {
  return {
    ...{ id, url, types: [...types], state, attempts, last_problem: lastProblem },
    ...{ created_at: moment(createdAt), created_by: createdBy },
  }
}
