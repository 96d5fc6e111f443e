/**
 * What a server offers: `/v1/scopes`, `/v1/quotas`, `/v1/backends`, `/v1/errors`.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { BackendList, ERRORS, ErrorTable, isErrorCode, QuotaList, QuotasQuery, ScopeList, ScopesQuery } from '@holdfast/protocol'
import type { QuotaName } from '@holdfast/protocol'
import { HoldfastError } from '@holdfast/protocol'
import type { Tenants } from '../../access/tenants.ts'
import { SCOPE_CHOICES } from '../../policy/scopes/choices.ts'
import type { ProbedBackend } from '../../sandboxes/choose.ts'
import { limitsOf } from '../../sessions/quotas.ts'
import { KEPT_QUOTAS } from '../../sessions/kept-storage.ts'
import type { KeptStorage } from '../../sessions/kept-storage.ts'
import type { QuotaLimits } from '../../sessions/quotas.ts'
import type { Store } from '../../store/store.ts'
import { KEPT_KINDS } from '../../store/tables/kept-storage.ts'
import { countDefinitions, DEFINITION_KINDS } from '../../store/tables/definitions.ts'
import { countSessions } from '../../store/tables/tenants.ts'
import type { SessionCounts } from '../../store/tables/tenants.ts'
import { backendView } from './backend-view.ts'
import { languageOf } from './language.ts'
import { json, publicRoute, route } from './route.ts'
import type { Route } from './route.ts'

export interface FactRoutesNeeds {
  readonly store: Store
  readonly tenants: Pick<Tenants, 'get'>
  readonly sessions: { readonly kept: Pick<KeptStorage, 'used'> }
  /** Where a tenant says nothing. */
  readonly quotas: QuotaLimits
  readonly scopeRules: { readonly default: string; readonly forced: string | null }
  readonly chosenBackend: string
  /** Looks at the machine, which may take seconds. */
  readonly probeBackends: () => Promise<readonly ProbedBackend[]>
}

export function factRoutes({
  store,
  tenants,
  sessions,
  quotas,
  scopeRules,
  chosenBackend,
  probeBackends,
}: FactRoutesNeeds): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/scopes',
      summary: 'List the scopes that a conversation can have, with labels for people',
      authorization: 'any-principal',
      query: ScopesQuery,
      answers: { 200: json('ScopeList', ScopeList, 'In the language of `lang`, else of Accept-Language, else in English') },
      errors: [],
      async handle({ query, header }) {
        const language = query.lang ?? languageOf(header('accept-language'))
        const items = SCOPE_CHOICES.map(({ name, template, idleSeconds, labels, descriptions }) => ({
          ...{ name, template, label: labels[language], description: descriptions[language], idle_seconds: idleSeconds },
        }))
        return { status: 200, body: { language, ...scopeRules, items }, headers: { 'content-language': language, vary: 'Accept-Language' } }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/quotas',
      summary: 'See how much there may be, and how much there is',
      authorization: 'read-quotas',
      query: QuotasQuery,
      answers: { 200: json('QuotaList', QuotaList, 'Limits of the tenant and of one owner') },
      errors: ['forbidden', 'not_found'],
      async handle({ principal, caller, query }) {
        const owner = query.owner ?? caller.owner
        const seesTenant = caller.visibility.owner === null
        if (!seesTenant && owner !== caller.owner) throw new HoldfastError('forbidden', 'you may see your own quotas only')
        const limits = limitsOf((await tenants.get(principal, principal.tenantId)).quotas, quotas)
        const counts = await store.read((sql) => countSessions(sql, principal.tenantId, owner))
        const items = COUNTED.map(({ quota, isOfTenant, used }) => ({
          ...{ quota, limit: limits[quota], used: isOfTenant && !seesTenant ? null : used(counts) },
        }))
        const kept = KEPT_KINDS.map((kind) => {
          const { quota } = KEPT_QUOTAS[kind]
          return { quota, limit: limits[quota], used: seesTenant ? sessions.kept.used(principal.tenantId, kind) : null }
        })
        const stored = await store.read(async (sql) => {
          const found = []
          for (const kind of DEFINITION_KINDS) {
            const quota = kind === 'profile' ? 'profiles' : 'pipelines'
            found.push({
              quota,
              limit: limits[quota],
              used: seesTenant ? await countDefinitions(sql, principal.tenantId, kind) : null,
            } as const)
          }
          return found
        })
        return { status: 200, body: { owner, items: [...items, ...stored, ...kept] } }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/backends',
      summary: 'List what can isolate sandboxes on this machine, and what each can do',
      authorization: 'any-principal',
      answers: { 200: json('BackendList', BackendList, 'In the order of automatic choice') },
      errors: [],
      handle: async () => ({ status: 200, body: { items: (await probeBackends()).map((probed) => backendView(probed, chosenBackend)) } }),
    }),
    publicRoute({
      method: 'GET',
      path: '/v1/errors',
      summary: 'List every error code with its status and advice',
      answers: { 200: json('ErrorTable', ErrorTable, 'The error table') },
      errors: [],
      handle: async () => ({
        status: 200,
        body: {
          items: Object.keys(ERRORS)
            .filter(isErrorCode)
            .map((code) => ({ code, ...ERRORS[code] })),
        },
      }),
    }),
  ]
}

const COUNTED: readonly { readonly quota: QuotaName; readonly isOfTenant: boolean; readonly used: (counts: SessionCounts) => number }[] = [
  { quota: 'open_sessions', isOfTenant: true, used: ({ open }) => open },
  { quota: 'open_sessions_per_owner', isOfTenant: false, used: ({ openOfOwner }) => openOfOwner },
  { quota: 'compute_sessions', isOfTenant: true, used: ({ compute }) => compute },
  { quota: 'compute_sessions_per_owner', isOfTenant: false, used: ({ computeOfOwner }) => computeOfOwner },
]
