/**
 * Where the gauges look: the sessions of this server, and its database.
 *
 * Stands beside the flow.
 */
import type { SteadyClock } from '../../home/steady-clock.ts'
import type { Sessions } from '../../sessions/sessions.ts'
import type { Store } from '../../store/store.ts'
import { countOpenSessions, countWebhooksBehind } from '../../store/tables/state-counts.ts'
import type { McpState, StateSources } from './state-gauges.ts'

export interface StateSourcesNeeds {
  readonly store: Store
  readonly sessions: Pick<Sessions, 'attended' | 'waiting' | 'sandboxes' | 'kept'>
  readonly mcp: { readonly standing: McpState }
  readonly steadyClock: Pick<SteadyClock, 'now' | 'jump'>
}

export function stateSources({ store, sessions, mcp, steadyClock }: StateSourcesNeeds): StateSources {
  return {
    stored: () => store.read(async (sql) => ({ sessions: await countOpenSessions(sql), webhooksBehind: await countWebhooksBehind(sql) })),
    attended: () => sessions.attended,
    waiting: () => sessions.waiting,
    sandboxes: () => sessions.sandboxes,
    kept: (kind) => sessions.kept.total(kind),
    mcp: () => mcp.standing,
    clock: steadyClock.now,
    clockJumpSeconds: () => Math.round((steadyClock.jump()?.byMs ?? 0) / 1000),
  }
}
