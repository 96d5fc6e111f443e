/**
 * Sessions of the caller's: got or created by the name of their conversation, looked up, listed.
 */
import type { SessionRecord as WireSession } from '@holdfast/protocol'
import { callOf } from './call-options.ts'
import type { CallOptions } from './call-options.ts'
import { refuseUnknown } from './known-options.ts'
import type { OptionNames } from './known-options.ts'
import { createList } from './lists.ts'
import type { List, PagingOptions } from './lists.ts'
import { createSession } from './session.ts'
import type { Session } from './session.ts'
import { sessionRecord } from './session-record.ts'
import type { SessionRecord, SessionState } from './session-record.ts'
import { sessionBody } from './session-wishes.ts'
import type { SessionWish } from './session-wishes.ts'
import type { Transport } from './transport/transport.ts'

export interface GetOrCreateOptions extends SessionWish, CallOptions {
  /** Ends the session when the block that holds it with `await using` is left. Without it the conversation goes on. */
  readonly release?: 'on-dispose' | undefined
}

export interface SessionFilter extends PagingOptions {
  readonly state?: SessionState | readonly SessionState[] | undefined
  readonly owner?: string | undefined
  readonly key?: string | undefined
  readonly sandboxId?: string | undefined
  /** All of them. */
  readonly labels?: Readonly<Record<string, string>> | undefined
}

export interface Sessions {
  /** The open session of a conversation, or a new one. */
  getOrCreate(options: GetOrCreateOptions): Promise<Session>
  /** One that exists, by its id. */
  get(id: string, options?: CallOptions): Promise<Session>
  /** Newest first. */
  list(filter?: SessionFilter): List<SessionRecord>
}

const SESSION_OPTIONS: OptionNames<GetOrCreateOptions> = {
  ...{ key: true, scope: true, variables: true, missing: true },
  ...{
    profile: true,
    pipeline: true,
    image: true,
    network: true,
    rootfs: true,
    home: true,
    user: true,
    workspace: true,
    mounts: true,
    limits: true,
  },
  ...{ owner: true, ownerGroup: true, labels: true, metadata: true, times: true, pack: true, workspaceOnClose: true, waitMs: true },
  ...{ release: true, signal: true, timeoutMs: true },
}

export function createSessions(transport: Transport): Sessions {
  return {
    async getOrCreate(options) {
      refuseUnknown('sessions.getOrCreate', options, SESSION_OPTIONS)
      const { release, signal, timeoutMs, ...wish } = options
      const waiting = { signal, timeoutMs: timeoutMs ?? transport.timeoutMs + (wish.waitMs ?? 0) }
      const wire = await transport.json<WireSession>({ method: 'POST', path: '/v1/sessions', json: sessionBody(wish), ...waiting })
      return createSession({ transport, record: sessionRecord(wire), isReleasedOnDispose: release === 'on-dispose' })
    },
    async get(id, options = {}) {
      const wire = await transport.json<WireSession>({ path: `/v1/sessions/${encodeURIComponent(id)}`, ...callOf(options) })
      return createSession({ transport, record: sessionRecord(wire), isReleasedOnDispose: false })
    },
    list({ state, owner, key, sandboxId, labels = {}, ...options } = {}) {
      const query = {
        state: typeof state === 'object' ? state.join(',') : state,
        label: Object.entries(labels).map(([name, value]) => `${name}=${value}`),
        ...{ owner, key, sandbox: sandboxId },
      }
      return createList(transport, { path: '/v1/sessions', query }, options, sessionRecord)
    },
  }
}
