/**
 * Webhooks of a tenant: where its events are sent.
 */
import type { WebhookView } from '@holdfast/protocol'
import { callOf } from './call-options.ts'
import type { CallOptions } from './call-options.ts'
import type { Transport } from './transport/transport.ts'
import { camel, snake } from './wire-names.ts'

export interface WebhookRecord {
  readonly id: string
  readonly url: string
  /** Empty: every type. */
  readonly types: readonly string[]
  readonly state: 'active' | 'paused'
  /** How often the next event has been tried in vain. */
  readonly attempts: number
  readonly lastProblem: string | null
  readonly createdAt: string
  readonly createdBy: string
}

export interface CreatedWebhook extends WebhookRecord {
  /** Shown here and never again. */
  readonly secret: string
}

export interface Webhooks {
  /** Without `types`, events of every type. */
  create(options: CallOptions & { readonly url: string; readonly types?: readonly string[] | undefined }): Promise<CreatedWebhook>
  list(options?: CallOptions): Promise<readonly WebhookRecord[]>
  /** Nothing is sent until it is resumed. */
  pause(id: string, options?: CallOptions): Promise<WebhookRecord>
  resume(id: string, options?: CallOptions): Promise<WebhookRecord>
  remove(id: string, options?: CallOptions): Promise<void>
}

export function createWebhooks(transport: Transport): Webhooks {
  const path = '/v1/webhooks'
  const pathOf = (id: string) => `${path}/${encodeURIComponent(id)}`
  const post = async (id: string, verb: string, options: CallOptions): Promise<WebhookRecord> =>
    camel(await transport.json<WebhookView>({ method: 'POST', path: `${pathOf(id)}/${verb}`, json: {}, ...callOf(options) }))
  return {
    async create({ url, types, ...options }) {
      const json = snake({ url, types })
      return camel(await transport.json<WebhookView & { readonly secret: string }>({ method: 'POST', path, json, ...callOf(options) }))
    },
    async list(options = {}) {
      const { items } = await transport.json<{ readonly items: readonly WebhookView[] }>({ path, ...callOf(options) })
      return items.map((wire) => camel(wire))
    },
    pause: (id, options = {}) => post(id, 'pause', options),
    resume: (id, options = {}) => post(id, 'resume', options),
    remove: (id, options = {}) => transport.send({ method: 'DELETE', path: pathOf(id), ...callOf(options) }),
  }
}
