/**
 * A tenant's webhooks: made, listed, paused, removed. Each change is in the tenant's audit.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Who may do this is decided before; every function takes the tenant that was decided on. The secret is shown once and stored sealed; of the
 * address only scheme and host are shown, because it may hold a token.
 */
import { randomBytes } from 'node:crypto'
import { EventType, HoldfastError } from '@holdfast/protocol'
import type { Sealing } from '../../home/sealing.ts'
import { randomId } from '../../home/random-id.ts'
import type { Store, Transaction } from '../../store/store.ts'
import { lastPlace, turnOf } from '../../store/tables/events.ts'
import { deleteWebhook, insertWebhook, lockWebhook, updateWebhook, webhooksOfTenant } from '../../store/tables/webhooks.ts'
import type { WebhookChange, WebhookRow } from '../../store/tables/webhooks.ts'
import { appendTenantAudit } from '../audit/tenant-audit.ts'
import type { Actor } from '../caller.ts'
import { showSecret } from './signature.ts'
import type { TargetGuard } from './target-guard.ts'
import { storedTarget } from './webhook-target.ts'

const SECRET_BYTES = 32
const MOST_PER_TENANT = 20

/** What its owner sees: everything but the secret. */
export type Webhook = Pick<WebhookRow, 'id' | 'url' | 'types' | 'state' | 'attempts' | 'lastProblem' | 'createdAt' | 'createdBy'>

export interface NewWebhook {
  readonly url: string
  /** Empty: every type. */
  readonly types: readonly EventType[]
}

export interface Webhooks {
  /** Starts with the events after this moment. The secret is not shown again. */
  create(tenantId: string, wish: NewWebhook, actor: Actor): Promise<{ readonly webhook: Webhook; readonly secret: string }>
  list(tenantId: string): Promise<readonly Webhook[]>
  /** Events gather while it is paused, as long as events are kept at all. */
  pause(tenantId: string, id: string, actor: Actor): Promise<Webhook>
  resume(tenantId: string, id: string, actor: Actor): Promise<Webhook>
  remove(tenantId: string, id: string, actor: Actor): Promise<void>
}

export interface WebhooksNeeds {
  readonly store: Store
  readonly sealing: Sealing
  readonly guard: TargetGuard
  readonly clock: () => number
}

export function createWebhooks({ store, sealing, guard, clock }: WebhooksNeeds): Webhooks {
  const audit = async (transaction: Transaction, action: string, tenantId: string, id: string, actor: Actor) =>
    await appendTenantAudit(
      transaction,
      tenantId,
      { action, actor, resource: { type: 'webhook', id }, decision: 'allow', outcome: 'success' },
      clock(),
    )

  const change = async (tenantId: string, id: string, actor: Actor, action: string, to: WebhookChange): Promise<Webhook> =>
    await store.write(async (transaction) => {
      const after = await updateWebhook(transaction, await locked(transaction, tenantId, id), to)
      if (after === null) throw new HoldfastError('internal', `the webhook ${id} changed under a lock`)
      await audit(transaction, action, tenantId, id, actor)
      return viewOf(after)
    })

  return {
    async create(tenantId, { url, types }, actor) {
      guard.check(url)
      const unknown = types.find((type) => !EventType.safeParse(type).success)
      if (unknown !== undefined) throw noEventType(unknown)
      const secret = randomBytes(SECRET_BYTES)
      const id = randomId('whk')
      const row = await store.write(async (transaction) => {
        // First, because it locks the tenant: two at once cannot both be the last that fits.
        await audit(transaction, 'webhook.create', tenantId, id, actor)
        if ((await webhooksOfTenant(transaction, tenantId)).length >= MOST_PER_TENANT)
          throw new HoldfastError('quota_exceeded', `a tenant has at most ${MOST_PER_TENANT} webhooks`, {
            quota: 'webhooks',
            limit: MOST_PER_TENANT,
          })
        const now = clock()
        const position = turnOf(store.dialect, await lastPlace(transaction, tenantId))
        const fresh: WebhookRow = {
          ...{
            id,
            tenantId,
            ...storedTarget(sealing, id, url),
            types,
            position,
            state: 'active',
            attempts: 0,
            lastProblem: null,
            version: 1,
          },
          ...{ secret: sealing.seal(secret, id), nextAt: now, createdAt: now, createdBy: actor.subject },
        }
        await insertWebhook(transaction, fresh)
        return fresh
      })
      return { webhook: viewOf(row), secret: showSecret(secret) }
    },

    async list(tenantId) {
      return (await store.read((sql) => webhooksOfTenant(sql, tenantId))).map(viewOf)
    },

    pause: (tenantId, id, actor) => change(tenantId, id, actor, 'webhook.pause', { state: 'paused' }),

    resume: (tenantId, id, actor) => change(tenantId, id, actor, 'webhook.resume', { state: 'active', attempts: 0, nextAt: clock() }),

    async remove(tenantId, id, actor) {
      await store.write(async (transaction) => {
        await deleteWebhook(transaction, await locked(transaction, tenantId, id))
        await audit(transaction, 'webhook.remove', tenantId, id, actor)
      })
    },
  }
}

function noEventType(type: string): HoldfastError {
  const problem = `there is no event type ${type}`
  return new HoldfastError('invalid_request', `types: ${problem}`, { problems: [{ field: 'types', problem }] })
}

async function locked(transaction: Transaction, tenantId: string, id: string): Promise<WebhookRow> {
  const row = await lockWebhook(transaction, tenantId, id)
  if (row === null) throw new HoldfastError('not_found', `there is no webhook ${id}`)
  return row
}

function viewOf({ id, url, types, state, attempts, lastProblem, createdAt, createdBy }: WebhookRow): Webhook {
  return { id, url, types, state, attempts, lastProblem, createdAt, createdBy }
}
