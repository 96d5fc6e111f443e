/**
 * What a server offers: its backends, its scopes, how much of everything somebody may have, what runs, its errors.
 */
import type { BackendView, ClockView, HealthView, QuotaList as WireQuotas, SandboxView, ScopeList as WireScopes } from '@holdfast/protocol'
import { callOf } from './call-options.ts'
import type { CallOptions } from './call-options.ts'
import type { RetryAdvice } from './errors.ts'
import { createList } from './lists.ts'
import type { List, PagingOptions } from './lists.ts'
import type { Transport } from './transport/transport.ts'
import { camel } from './wire-names.ts'

export interface Health {
  readonly status: 'ok'
  /** Of Holdfast. */
  readonly version: string
  /** What makes the sandboxes. */
  readonly backend: string
  /** Of the program that makes them. */
  readonly backendVersion: string
}

/** The clock of the server that answers. */
export interface ServerClock {
  /** What deadlines are compared with. */
  readonly time: string
  readonly wallTime: string
  /** A jump of the wall clock that the server does not follow yet. */
  readonly jump: { readonly bySeconds: number; readonly followedAt: string } | null
}

export interface BackendCapabilities {
  readonly limits: { readonly cpus: boolean; readonly memory: boolean; readonly pids: boolean }
  readonly networkOn: boolean
  readonly images: boolean
  readonly writableRoot: boolean
  readonly rootUser: boolean
  readonly severalUsers: boolean
  readonly packing: boolean
  /** For each `false` above: the reason and what would change it. */
  readonly reasons: Readonly<Record<string, string>>
}

export interface Backend {
  readonly kind: string
  /** New sandboxes are made on this one. */
  readonly chosen: boolean
  readonly available: boolean
  readonly version: string | null
  readonly capabilities: BackendCapabilities | null
  /** Why it is not available, and what would change that. */
  readonly reason: string | null
  readonly fix: string | null
}

export interface Scopes {
  /** Of the labels and descriptions. */
  readonly language: string
  /** The scope of requests that name none. */
  readonly default: string
  /** Taken instead of whatever a request asks for. */
  readonly forced: string | null
  readonly items: readonly {
    readonly name: string
    readonly template: string
    readonly label: string
    readonly description: string
    readonly idleSeconds: number
  }[]
}

export interface Quotas {
  readonly owner: string
  readonly items: readonly {
    readonly quota:
      | 'open_sessions'
      | 'open_sessions_per_owner'
      | 'compute_sessions'
      | 'compute_sessions_per_owner'
      | 'profiles'
      | 'pipelines'
      | 'kept_output_bytes'
      | 'kept_events'
      | 'kept_answer_bytes'
    readonly limit: number | null
    /** `null` where it would tell how much others use. */
    readonly used: number | null
  }[]
}

export interface SandboxRecord {
  readonly id: string
  readonly backend: string
  readonly state: 'creating' | 'ready' | 'quarantined' | 'ending'
  readonly serverId: string
  /** Ids of the sessions in it that exist for the caller. */
  readonly sessions: readonly string[]
  /** Of all sessions in it. */
  readonly sessionCount: number
  readonly maxSessions: number
  readonly createdAt: string
}

export interface ErrorKind {
  readonly code: string
  readonly status: number
  readonly retry: RetryAdvice
  readonly hint: string
}

export interface ServerFacts {
  /** Fails unless the server is alive. */
  health(options?: CallOptions): Promise<Health>
  /** Fails unless the server takes work. */
  ready(options?: CallOptions): Promise<void>
  backends(options?: CallOptions): Promise<readonly Backend[]>
  /** `lang`: such as `en-US` or `zh-Hans`. */
  scopes(options?: CallOptions & { readonly lang?: string | undefined }): Promise<Scopes>
  /** `owner`: another than the caller, for those who see the tenant. */
  quotas(options?: CallOptions & { readonly owner?: string | undefined }): Promise<Quotas>
  sandboxes(options?: PagingOptions): List<SandboxRecord>
  clock(options?: CallOptions): Promise<ServerClock>
  confirmClock(options?: CallOptions): Promise<ServerClock>
  errors(options?: CallOptions): Promise<readonly ErrorKind[]>
}

interface Items<T> {
  readonly items: readonly T[]
}

export function createServerFacts(transport: Transport): ServerFacts {
  return {
    health: async (options = {}) => camel(await transport.json<HealthView>({ path: '/healthz', ...callOf(options) })),
    ready: (options = {}) => transport.send({ path: '/readyz', ...callOf(options) }),
    async backends(options = {}) {
      const { items } = await transport.json<Items<BackendView>>({ path: '/v1/backends', ...callOf(options) })
      return items.map((wire) => ({ ...wire, capabilities: wire.capabilities === null ? null : camel(wire.capabilities) }))
    },
    async scopes({ lang, ...options } = {}) {
      const wire = await transport.json<WireScopes>({ path: '/v1/scopes', query: { lang }, ...callOf(options) })
      return { ...wire, items: wire.items.map((item) => camel(item)) }
    },
    quotas: ({ owner, ...options } = {}) => transport.json<WireQuotas>({ path: '/v1/quotas', query: { owner }, ...callOf(options) }),
    sandboxes: (options = {}) => createList(transport, { path: '/v1/sandboxes' }, options, (wire: SandboxView) => camel(wire)),
    clock: async (options = {}) => serverClock(await transport.json<ClockView>({ path: '/v1/clock', ...callOf(options) })),
    confirmClock: async (options = {}) =>
      serverClock(await transport.json<ClockView>({ method: 'POST', path: '/v1/clock/confirm', ...callOf(options) })),
    errors: async (options = {}) => (await transport.json<Items<ErrorKind>>({ path: '/v1/errors', ...callOf(options) })).items,
  }
}

function serverClock({ jump, ...wire }: ClockView): ServerClock {
  return { ...camel(wire), jump: jump === null ? null : camel(jump) }
}
