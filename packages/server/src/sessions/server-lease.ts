/**
 * The server's lease in the database, renewed while the server runs.
 *
 * A session names the server that hosts it, and only that server moves it. Another server may take the session over once the host's lease has
 * expired. A server grants itself `takeoverMs` with every renewal, so a killed server loses its sessions at most that long after its end.
 */
import { HoldfastError } from '@holdfast/protocol'
import type { Store } from '../store/store.ts'
import { findServer, renewServer } from '../store/tables/servers.ts'
import type { SessionRow } from '../store/tables/sessions.ts'
import { errorText } from '../telemetry/log.ts'
import type { Log } from '../telemetry/log.ts'

const RENEW_EVERY_MS = 10_000
/** Several renewals may fail before the lease expires, however short it is. */
const RENEWALS_PER_LEASE = 5
/** Before every time that a lease can hold: no lease has expired. */
const NEVER = 0

export interface ServerLease {
  readonly serverId: string
  /** Whether this server hosts the session, or may take it over now. Throws `session_elsewhere` while another one does. */
  claimOn(session: SessionRow): Promise<'mine' | 'may-take-over'>
  /** Sessions of a server whose lease expired before this time may be taken over. */
  deadBefore(): number
  stop(): void
}

export interface ServerLeaseNeeds {
  readonly store: Store
  readonly serverId: string
  /** Where other servers and their callers reach this one. */
  readonly url: string | null
  readonly clock: () => number
  /** How long after this server's last renewal its sessions may be taken over. */
  readonly takeoverMs: number
  readonly log: Log
}

/** Resolves once the lease is stored. */
export async function holdServerLease(needs: ServerLeaseNeeds): Promise<ServerLease> {
  const { store, serverId, url, clock, takeoverMs, log } = needs
  const renewMs = Math.min(RENEW_EVERY_MS, takeoverMs / RENEWALS_PER_LEASE)
  /** Monotonic, like `renewedAt`: the end of the last gap in this server's own renewals; `null`: there was none. */
  let gapEndedAt: number | null = null
  let renewedAt: number | null = null

  async function renew(): Promise<void> {
    await store.write((transaction) => renewServer(transaction, { id: serverId, url, now: clock(), aliveUntil: clock() + takeoverMs }))
    const now = performance.now()
    if (renewedAt !== null && now - renewedAt > 2 * renewMs) gapEndedAt = now
    renewedAt = now
  }

  await renew()
  const timer = setInterval(() => {
    renew().catch((error: unknown) => log.warn('server-lease-not-renewed', { error: errorText(error) }))
  }, renewMs)
  timer.unref()

  /** While the database was out of reach here, other servers could not renew either: their silence counts from its return. */
  function deadBefore(): number {
    const now = performance.now()
    const isInGap = renewedAt !== null && now - renewedAt > 2 * renewMs
    const isAfterGap = gapEndedAt !== null && now - gapEndedAt < takeoverMs
    return isInGap || isAfterGap ? NEVER : clock()
  }

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
