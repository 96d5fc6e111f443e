/**
 * What REST callers see of Box clients: the payloads of LangBot's own status pages, of the tenant that Box clients belong to.
 *
 * A caller of another tenant sees a Box without sessions and errors, and one that may see only its own work sees only that.
 */
import type { BoxBackendInfo, BoxSessionInfo, BoxStatus } from '@holdfast/protocol/box'
import type { Caller } from '../../../sessions/caller.ts'
import type { Sessions } from '../../../sessions/sessions.ts'
import type { SessionRow } from '../../../store/tables/sessions.ts'
import { RAW_TENANT } from '../tenant.ts'
import type { BoxErrorRecord, BoxErrors } from '../box-errors.ts'
import type { BoxConfig } from './box-config.ts'
import { sessionInfoOf } from './session-info.ts'
import type { SessionFacts } from './session-info.ts'
import { DOOR_LABEL } from './session-names.ts'
import { SESSION_TTL_SECONDS } from './session-request.ts'

const MAXIMUM_LISTED = 5000
const PHYSICAL_PREFIX = /^ws-[0-9a-f]{24}-g\d+-/

export interface BoxOverview {
  status(caller: Caller): Promise<BoxStatus & { readonly recent_error_count: number }>
  backend(): Promise<BoxBackendInfo>
  sessions(caller: Caller): Promise<readonly BoxSessionInfo[]>
  errors(caller: Caller): readonly BoxErrorRecord[]
}

export interface BoxOverviewNeeds {
  readonly tenantId: string
  readonly sessions: Pick<Sessions, 'reads'>
  readonly config: Pick<BoxConfig, 'limits'>
  readonly facts: SessionFacts
  readonly backendInfo: () => Promise<BoxBackendInfo>
  readonly countRunning: (rows: readonly SessionRow[]) => Promise<number>
  readonly countAll: () => Promise<number>
  readonly errors: BoxErrors
}

export function boxOverview(needs: BoxOverviewNeeds): BoxOverview {
  const { tenantId, sessions, config, facts, backendInfo, countRunning, countAll, errors } = needs
  const isOurs = ({ visibility }: Caller) => visibility.tenantId === tenantId

  async function rowsOf(caller: Caller): Promise<readonly SessionRow[]> {
    if (!isOurs(caller)) return []
    return sessions.reads.list(caller, { states: ['pending', 'idle', 'active'], labels: [DOOR_LABEL] }, null, MAXIMUM_LISTED)
  }
  const errorsOf = (caller: Caller) => (isOurs(caller) ? errors.of(caller.visibility.owner) : [])

  return {
    async status(caller) {
      const [backend, rows, all] = await Promise.all([backendInfo(), rowsOf(caller), countAll()])
      const { completed_process_retention_sec: _retention, ...limits } = config.limits
      const { max_sessions: limit } = limits
      return {
        backend,
        active_sessions: rows.length,
        managed_processes: await countRunning(rows),
        session_ttl_sec: SESSION_TTL_SECONDS,
        capacity: { limit, used: rows.length, remaining: Math.max(0, limit - all) },
        limits,
        recent_error_count: errorsOf(caller).length,
      }
    },
    backend: backendInfo,
    async sessions(caller) {
      const shown = (row: SessionRow) => sessionInfoOf(RAW_TENANT, { ...row, key: row.key.replace(PHYSICAL_PREFIX, '') }, facts)
      return (await rowsOf(caller)).map(shown)
    },
    errors: errorsOf,
  }
}
