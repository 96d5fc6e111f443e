/**
 * `/api/v1/box/…`: what LangBot's own status pages read, answered by the server, for the tenant of the key.
 */
import { BoxStatusAnswer, BoxBackendAnswer, BoxErrorsAnswer, BoxSessionsAnswer } from '@holdfast/protocol/box'
import type { BoxBackendInfo } from '@holdfast/protocol/box'
import type { BoxOverview } from '../box/run/box-overview.ts'
import { json, route } from './route.ts'
import type { Route } from './route.ts'

export interface BoxRoutesNeeds {
  /** `null`: the Box API is switched off. */
  readonly boxOverview: () => BoxOverview | null
}

const DISABLED = 'Box is disabled in this server; set box.enabled to true'
/** LangBot's own profile is known to LangBot only. */
const PROFILE = 'default'
const OK = { code: 0, msg: 'ok' } as const

export function boxRoutes({ boxOverview }: BoxRoutesNeeds): readonly Route[] {
  const shared = { method: 'GET', authorization: 'list', errors: ['forbidden'] } as const
  return [
    route({
      ...shared,
      path: '/api/v1/box/status',
      summary: 'See the status of the Box API as LangBot shows it',
      answers: { 200: json('BoxStatusAnswer', BoxStatusAnswer, 'Sessions and errors are those that the key may see') },
      async handle({ caller }) {
        const box = boxOverview()
        const usual = { profile: PROFILE, hidden: false }
        if (box === null)
          return { status: 200, body: { ...OK, data: { ...usual, ...unavailable(false, DISABLED), recent_error_count: 0 } } }
        const status = await box.status(caller)
        return { status: 200, body: { ...OK, data: { ...status, ...usual, ...availability(status.backend) } } }
      },
    }),
    route({
      ...shared,
      path: '/api/v1/box/runtime-status',
      summary: 'See whether the backend of the Box API is available',
      answers: { 200: json('BoxBackendAnswer', BoxBackendAnswer, 'Without anything of a workspace') },
      async handle() {
        const backend = await boxOverview()?.backend()
        const data = backend === undefined ? unavailable(false, DISABLED) : { backend, ...availability(backend) }
        return { status: 200, body: { ...OK, data } }
      },
    }),
    route({
      ...shared,
      path: '/api/v1/box/sessions',
      summary: 'List the sessions of Box clients',
      answers: { 200: json('BoxSessionsAnswer', BoxSessionsAnswer, 'Those that have a sandbox and that the key may see') },
      handle: async ({ caller }) => ({ status: 200, body: { ...OK, data: (await boxOverview()?.sessions(caller)) ?? [] } }),
    }),
    route({
      ...shared,
      path: '/api/v1/box/errors',
      summary: 'List the last failures of Box clients',
      answers: { 200: json('BoxErrorsAnswer', BoxErrorsAnswer, 'The last 50 of this server, oldest first') },
      handle: async ({ caller }) => ({ status: 200, body: { ...OK, data: boxOverview()?.errors(caller) ?? [] } }),
    }),
  ]
}

function unavailable(enabled: boolean, reason: string) {
  return { available: false, enabled, connector_error: reason }
}

/** With the words of LangBot, which its pages show. */
function availability({ name, available, reason }: BoxBackendInfo) {
  if (available) return { available, enabled: true }
  return unavailable(true, `Configured sandbox backend "${name ?? ''}" is unavailable${reason === undefined ? '' : `: ${reason}`}`)
}
