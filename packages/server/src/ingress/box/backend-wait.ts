/**
 * A Box server whose backend is missing when it starts: clients connect and see `available: false` with its name, until it is there.
 *
 * Nothing of the server is open meanwhile but this stand-in, which is closed before the real one listens at the same address; clients then
 * reconnect by themselves. Sandboxes of an earlier run are found by the real start.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { isHoldfastError } from '@holdfast/protocol'
import { BoxError } from '@holdfast/protocol/box'
import type { BoxBackendInfo } from '@holdfast/protocol/box'
import type { CheckHost } from '../../access/listen-address.ts'
import type { Log } from '../../telemetry/log.ts'
import { listen } from '../http-listener.ts'
import { openBoxDoor } from './box-door.ts'
import { createBoxErrors } from './box-errors.ts'
import type { BoxRuntime } from './runtime.ts'
import type { BoxSettings } from './settings.ts'

const RETRY_MS = 3_000

export interface BackendWaitNeeds<T> {
  /** Throws `backend_unavailable` while it is missing. */
  readonly choose: () => Promise<T>
  /** As it is configured; `null`: any. */
  readonly backendName: string | null
  readonly settings: BoxSettings
  readonly host: string
  readonly port: number
  readonly checkHost: CheckHost
  readonly transfersDirectory: string
  readonly retryMs?: number
  readonly log: Log
}

export interface AwaitedBackend<T> {
  readonly chosen: T
  /** Where clients know the server by now. */
  readonly port: number
}

export async function awaitBackend<T>(needs: BackendWaitNeeds<T>): Promise<AwaitedBackend<T>> {
  const { choose, port, retryMs = RETRY_MS, log } = needs
  const attempt = async () => {
    try {
      return { chosen: await choose() }
    } catch (error) {
      if (!isHoldfastError(error, 'backend_unavailable')) throw error
      return { reason: error.message }
    }
  }
  const first = await attempt()
  if ('chosen' in first) return { chosen: first.chosen, port }
  let { reason } = first
  log.warn('backend-awaited', { reason, retry_ms: retryMs })
  const standIn = await openStandIn(needs, () => reason)
  try {
    for (;;) {
      await delay(retryMs)
      const next = await attempt()
      if ('chosen' in next) return { chosen: next.chosen, port: standIn.port }
      reason = next.reason
    }
  } finally {
    await standIn.close()
  }
}

async function openStandIn<T>(needs: BackendWaitNeeds<T>, reasonOf: () => string) {
  const { backendName, settings, host, port, checkHost, transfersDirectory, log } = needs
  const info = (): BoxBackendInfo => ({ name: backendName, available: false, reason: reasonOf() })
  const door = await openBoxDoor({
    ...{ runtime: missingRuntime(info), settings, transfersDirectory, privatePaths: [], checkHost, allowedOrigins: new Set(), log },
    errors: createBoxErrors(Date.now),
    relay: () => ({ serves: () => false, upgrade: () => undefined, close: async () => undefined }),
  })
  const answer = (request: Request) => {
    const isAlive = new URL(request.url).pathname === '/healthz'
    const problem = { code: 'backend_unavailable', title: reasonOf(), ready: false, backend: info() }
    return isAlive ? Response.json({ status: 'ok', live: true }) : Response.json(problem, { status: 503 })
  }
  const listener = await listen(
    door.health.over(answer),
    (request, connection, head) => (door.serves(request.url ?? '/') ? door.upgrade(request, connection, head) : void connection.destroy()),
    host,
    port,
  )
  return {
    port: listener.port,
    async close() {
      await door.close()
      await listener.close()
    },
  }
}

function missingRuntime(info: () => BoxBackendInfo): BoxRuntime {
  const missing = async (): Promise<never> => {
    throw new BoxError('BoxBackendUnavailableError', info().reason ?? 'the backend is not available')
  }
  const limits = {
    ...{ max_sessions: 0, max_managed_processes: 0, max_completed_processes: 0, max_admission_records: 1, max_rpc_file_bytes: 1 },
  }
  const counts = { active_sessions: 0, managed_processes: 0 }
  return {
    init: async () => undefined,
    backendInfo: async () => info(),
    status: async () => ({ backend: info(), ...counts, session_ttl_sec: 300, capacity: { limit: 0, used: 0, remaining: 0 }, limits }),
    storage: async () => ({ size_bytes: 0, directories: [], ...counts }),
    shutdown: async () => undefined,
    getSessions: async () => [],
    ...{ verifySharedWorkspace: missing, exec: missing, createSession: missing, getSession: missing, deleteSession: missing },
    ...{ startProcess: missing, getProcess: missing, stopProcess: missing, attach: missing },
    skills() {
      throw new BoxError('BoxBackendUnavailableError', info().reason ?? 'the backend is not available')
    },
    latestGeneration: async () => null,
    dropOtherGenerations: async () => undefined,
    counts: () => ({ sessions: 0, managed_processes: 0, completed_processes: 0 }),
    close: async () => undefined,
  }
}
