/**
 * `/v1/keys`: the API keys of a tenant.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { CreatedKeyView, CreateKeyBody, KeyView, pageOf, PagingShape } from '@holdfast/protocol'
import { z } from 'zod'
import type { KeyRecord, Keys } from '../../access/keys.ts'
import { moment, momentOrNull } from './moment.ts'
import type { Pages } from './page-tokens.ts'
import { OneId } from './paths.ts'
import { json, route } from './route.ts'
import type { Route } from './route.ts'

export function keyRoutes({ keys, pages }: { readonly keys: Keys; readonly pages: Pages }): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: '/v1/keys',
      summary: 'Make a key; it is shown in this answer and never again',
      authorization: 'manage-keys',
      body: CreateKeyBody,
      answers: { 201: json('CreatedKey', CreatedKeyView, 'A new key') },
      errors: ['forbidden', 'not_found'],
      async handle({ principal, body }) {
        const { key, record } = await keys.create(principal, body)
        return { status: 201, body: { ...keyView(record), key } }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/keys',
      summary: 'List the keys of the tenant, oldest first',
      authorization: 'manage-keys',
      query: z.strictObject(PagingShape),
      answers: { 200: json('KeyPage', pageOf(KeyView), 'Keys without their secret') },
      errors: ['forbidden', 'invalid_page_token'],
      async handle(call) {
        const body = await pages.page(
          call,
          'keys',
          (after, limit) => keys.list(call.principal, after === null ? null : { createdAt: after[0], id: after[1] }, limit),
          ({ createdAt, id }) => [createdAt, id, 0],
          keyView,
        )
        return { status: 200, body }
      },
    }),
    route({
      method: 'DELETE',
      path: '/v1/keys/{id}',
      summary: 'Revoke a key; its record stays',
      authorization: 'manage-keys',
      params: OneId,
      answers: { 200: json('Key', KeyView, 'The revoked key') },
      errors: ['forbidden', 'not_found'],
      handle: async ({ principal, params }) => ({ status: 200, body: keyView(await keys.revoke(principal, params.id)) }),
    }),
  ]
}

function keyView({
  id,
  tenantId,
  name,
  kind,
  subject,
  role,
  groups,
  users,
  createdAt,
  createdBy,
  expiresAt,
  revokedAt,
}: KeyRecord): KeyView {
  return {
    ...{ id, tenant_id: tenantId, name, kind, subject, role, groups: [...groups], users },
    ...{ created_at: moment(createdAt), created_by: createdBy, expires_at: momentOrNull(expiresAt), revoked_at: momentOrNull(revokedAt) },
  }
}
