/**
 * `/v1/tenants`: made, shaped and ended by a platform administrator.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { CreateTenantBody, pageOf, PagingShape, TenantPolicy, TenantQuotas, TenantView } from '@holdfast/protocol'
import { z } from 'zod'
import type { Tenants } from '../../access/tenants.ts'
import type { Tenant } from '../../store/tables/tenants.ts'
import { moment } from './moment.ts'
import type { Pages, Place } from './page-tokens.ts'
import { OneTenant } from './paths.ts'
import { json, route } from './route.ts'
import type { Route } from './route.ts'
import { etag, requiredVersion } from './versions.ts'

export function tenantRoutes({ tenants, pages }: { readonly tenants: Tenants; readonly pages: Pages }): readonly Route[] {
  const answers = { 200: json('Tenant', TenantView, 'The tenant') }
  return [
    route({
      method: 'POST',
      path: '/v1/tenants',
      summary: 'Make a tenant',
      authorization: 'manage-tenants',
      body: CreateTenantBody,
      answers: { 201: json('Tenant', TenantView, 'A new tenant') },
      errors: ['forbidden', 'name_taken'],
      async handle({ principal, body }) {
        const { body: view, headers } = shown(await tenants.create(principal, body))
        return { status: 201, body: view, headers: { ...headers, location: `/v1/tenants/${view.id}` } }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/tenants',
      summary: 'List the tenants in the order of their names',
      authorization: 'manage-tenants',
      query: z.strictObject(PagingShape),
      answers: { 200: json('TenantPage', pageOf(TenantView), 'Tenants') },
      errors: ['forbidden', 'invalid_page_token'],
      async handle(call) {
        const read = (after: Place | null, limit: number) => tenants.list(call.principal, after?.[1] ?? '', limit)
        return { status: 200, body: await pages.page(call, 'tenants', read, ({ name }) => [0, name, 0], tenantView) }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/tenants/{id}',
      summary: 'Look at a tenant: one’s own, or any for a platform administrator',
      authorization: 'any-principal',
      params: OneTenant,
      answers,
      errors: ['not_found'],
      handle: async ({ principal, params }) => shown(await tenants.get(principal, params.id)),
    }),
    route({
      method: 'PUT',
      path: '/v1/tenants/{id}/policy',
      summary: 'Replace what the tenant allows',
      authorization: 'manage-tenants',
      params: OneTenant,
      body: TenantPolicy,
      ifMatch: 'required',
      answers,
      errors: ['forbidden', 'not_found', 'version_conflict'],
      handle: async ({ principal, params, body, ifMatch }) =>
        shown(await tenants.setPolicy(principal, params.id, requiredVersion(ifMatch), body)),
    }),
    route({
      method: 'PUT',
      path: '/v1/tenants/{id}/quotas',
      summary: 'Replace how much the tenant may have',
      authorization: 'manage-tenants',
      params: OneTenant,
      body: TenantQuotas,
      ifMatch: 'required',
      answers,
      errors: ['forbidden', 'not_found', 'version_conflict'],
      handle: async ({ principal, params, body, ifMatch }) =>
        shown(await tenants.setQuotas(principal, params.id, requiredVersion(ifMatch), body)),
    }),
    route({
      method: 'POST',
      path: '/v1/tenants/{id}/terminate',
      summary: 'End the sessions of the tenant and let nothing new begin in it; it is terminated when the last has ended',
      authorization: 'manage-tenants',
      params: OneTenant,
      answers,
      errors: ['forbidden', 'not_found'],
      isRepeatable: true,
      handle: async ({ principal, params }) => shown(await tenants.terminate(principal, params.id)),
    }),
  ]
}

function shown(tenant: Tenant) {
  return { status: 200 as const, body: tenantView(tenant), headers: etag(tenant) }
}

function tenantView({ id, name, state, policy, quotas, version, createdAt }: Tenant): TenantView {
  return { id, name, state, policy, quotas, version, created_at: moment(createdAt) }
}
