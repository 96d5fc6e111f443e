/**
 * The promise of a server to be there, renewed while it lives.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * A session names the server that hosts it, and only that one moves it. Another server may take it over once the promise has
 * been broken for long enough, so that two never make a sandbox for one session.
 */
import { HoldfastError } from '@holdfast/protocol'
import type { Store } from '../store/store.ts'
import { findServer, renewServer } from '../store/tables/servers.ts'
import type { SessionRow } from '../store/tables/sessions.ts'
import { errorText } from '../telemetry/log.ts'
import type { Log } from '../telemetry/log.ts'

const RENEW_EVERY_MS = 10_000
const ALIVE_MS = 30_000

export interface ServerLease {
  readonly serverId: string
  /** Whether this server hosts the session, or may take it over now. Throws `session_elsewhere` while another one does. */
  claimOn(session: SessionRow): Promise<'mine' | 'may-take-over'>
  /** What a server hosted whose promise ended before this time may be taken over. */
  deadBefore(): number
  stop(): void
}

export interface ServerLeaseNeeds {
  readonly store: Store
  readonly serverId: string
  /** Where other servers and their callers reach this one. */
  readonly url: string | null
  readonly clock: () => number
  /** How long after a server's promise ended its sessions may be taken over. */
  readonly takeoverMs: number
  readonly log: Log
}

/** Resolves once the promise is given. */
export async function holdServerLease(needs: ServerLeaseNeeds): Promise<ServerLease> {
  const { store, serverId, url, clock, takeoverMs, log } = needs
  const renew = () =>
    store.write((transaction) => renewServer(transaction, { id: serverId, url, now: clock(), aliveUntil: clock() + ALIVE_MS }))
  await renew()
  const timer = setInterval(() => {
    renew().catch((error: unknown) => log.warn('server-lease-not-renewed', { error: errorText(error) }))
  }, RENEW_EVERY_MS)
  timer.unref()
  const deadBefore = () => clock() - takeoverMs
  return {
    serverId,
    deadBefore,
    async claimOn(session) {
      const hostId = session.serverId
      if (hostId === serverId) return 'mine'
      if (hostId === null) return 'may-take-over'
      const host = await store.read((sql) => findServer(sql, hostId))
      if (host === null || host.aliveUntil < deadBefore()) return 'may-take-over'
      throw new HoldfastError('session_elsewhere', 'another server hosts this session', { server: host.id, url: host.url })
    },
    stop() {
      clearInterval(timer)
    },
  }
}
