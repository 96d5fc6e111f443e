/**
 * The client: one server, one caller.
 *
 * ```ts
 * const holdfast = new Holdfast() // HOLDFAST_URL, HOLDFAST_API_KEY
 * ```
 */
import { createAudit } from './audit.ts'
import type { Audit } from './audit.ts'
import type { CallOptions } from './call-options.ts'
import type { CommandResult } from './command-result.ts'
import { adminKeyHere, DEFAULT_URL, fromEnvironment } from './environment.ts'
import { followEvents } from './events.ts'
import type { EventOptions, SessionEvent } from './events.ts'
import { checkedExecute } from './exec.ts'
import type { ExecOptions } from './exec.ts'
import { createKeys } from './keys.ts'
import type { Keys } from './keys.ts'
import { refuseUnknown } from './known-options.ts'
import type { OptionNames } from './known-options.ts'
import type { List, PagingOptions } from './lists.ts'
import { createMcpServers } from './mcp.ts'
import type { McpServers } from './mcp.ts'
import { createPipelines } from './pipelines.ts'
import type { PipelinesApi } from './pipelines.ts'
import { createProfiles } from './profiles.ts'
import type { ProfilesApi } from './profiles.ts'
import { createServerFacts } from './server-facts.ts'
import type { Backend, ErrorKind, Health, Quotas, SandboxRecord, Scopes, ServerClock, ServerFacts } from './server-facts.ts'
import { createSessions } from './sessions.ts'
import type { Sessions } from './sessions.ts'
import { createSkills } from './skills.ts'
import type { Skills } from './skills.ts'
import { createTenants } from './tenants.ts'
import type { Tenants } from './tenants.ts'
import { createTools } from './tools.ts'
import type { Tools } from './tools.ts'
import { createTransport } from './transport/transport.ts'
import type { Transport } from './transport/transport.ts'
import { createWebhooks } from './webhooks.ts'
import type { Webhooks } from './webhooks.ts'

export interface HoldfastOptions {
  /** `HOLDFAST_URL`, or http://127.0.0.1:5410, unless given. */
  readonly url?: string | undefined
  /** `HOLDFAST_API_KEY` unless given; for a server on loopback also the `admin.key` in its home, where this program may read it. */
  readonly apiKey?: string | undefined
  /** For a platform administrator: the tenant that it is about. */
  readonly tenant?: string | undefined
  /** For a service key: the user it speaks for, who then owns what is made. */
  readonly onBehalfOf?: string | undefined
  /** The groups of that user. */
  readonly groups?: readonly string[] | undefined
  /** Another than the runtime's own. */
  readonly fetch?: typeof globalThis.fetch | undefined
  /** Another than the runtime's own; Node has one from 22 on. */
  readonly webSocket?: typeof globalThis.WebSocket | undefined
  /** How long a call waits for its answer, retries included; a minute unless given. */
  readonly timeoutMs?: number | undefined
}

const TIMEOUT_MS = 60_000

const CLIENT_OPTIONS: OptionNames<HoldfastOptions> = {
  ...{ url: true, apiKey: true, tenant: true, onBehalfOf: true, groups: true, fetch: true, webSocket: true, timeoutMs: true },
}

export class Holdfast {
  /** Where the server is. */
  readonly url: string
  readonly sessions: Sessions
  readonly audit: Audit
  readonly tenants: Tenants
  readonly keys: Keys
  readonly webhooks: Webhooks
  readonly skills: Skills
  /** What models are offered. */
  readonly tools: Tools
  /** MCP servers that run in boxes. */
  readonly mcp: McpServers
  /** The named sets of values that sandboxes can be made with: `profiles()` lists them. */
  readonly profiles: ProfilesApi
  /** Scope, profile and skills of each kind of conversation: `pipelines()` lists them. */
  readonly pipelines: PipelinesApi
  readonly #transport: Transport
  readonly #facts: ServerFacts

  constructor(options: HoldfastOptions = {}) {
    refuseUnknown('new Holdfast', options, CLIENT_OPTIONS)
    const url = options.url ?? fromEnvironment('HOLDFAST_URL') ?? DEFAULT_URL
    const { tenant, onBehalfOf, groups, fetch = globalThis.fetch, webSocket = globalThis.WebSocket, timeoutMs = TIMEOUT_MS } = options
    const transport = createTransport({
      ...{ tenant, onBehalfOf, groups, webSocket, timeoutMs },
      url,
      apiKey: options.apiKey ?? fromEnvironment('HOLDFAST_API_KEY') ?? adminKeyHere(url),
      // A browser's own wants to be called as a function of the window.
      fetch: (input, init) => fetch(input, init),
    })
    this.url = transport.url
    this.sessions = createSessions(transport)
    this.audit = createAudit(transport)
    this.tenants = createTenants(transport)
    this.keys = createKeys(transport)
    this.webhooks = createWebhooks(transport)
    this.skills = createSkills(transport)
    this.tools = createTools(transport)
    this.mcp = createMcpServers(transport)
    this.profiles = createProfiles(transport)
    this.pipelines = createPipelines(transport)
    this.#transport = transport
    this.#facts = createServerFacts(transport)
  }

  /** The main job in one request: get or create the session of a conversation, run one command in it, be told what it printed. */
  exec(options: ExecOptions): Promise<CommandResult> {
    return checkedExecute(this.#transport, options)
  }

  /** What happens to all sessions that the caller may see, from the oldest event on unless `after` says otherwise; `after` is an `id`. */
  events(options: EventOptions<string> = {}): AsyncIterable<SessionEvent> {
    const source = {
      path: '/v1/events',
      placeOf: ({ id }: SessionEvent) => id,
      now: async () => 'now' as const,
      resume: () => 'now' as const,
    }
    return followEvents({ transport: this.#transport, ...source }, options)
  }

  /** Fails unless the server is alive. */
  health(options?: CallOptions): Promise<Health> {
    return this.#facts.health(options)
  }

  /** Fails unless the server takes work. */
  ready(options?: CallOptions): Promise<void> {
    return this.#facts.ready(options)
  }

  /** What can isolate sandboxes there, and what each can do. */
  backends(options?: CallOptions): Promise<readonly Backend[]> {
    return this.#facts.backends(options)
  }

  /** The scopes that a conversation can have, with labels for people; `lang` such as `en-US` or `zh-Hans`. */
  scopes(options?: CallOptions & { readonly lang?: string | undefined }): Promise<Scopes> {
    return this.#facts.scopes(options)
  }

  /** How much there may be, and how much there is; `owner`: another than the caller, for those who see the tenant. */
  quotas(options?: CallOptions & { readonly owner?: string | undefined }): Promise<Quotas> {
    return this.#facts.quotas(options)
  }

  /** The server's clock, and a jump of the wall clock that waits for a confirmation; for platform administrators. */
  clock(options?: CallOptions): Promise<ServerClock> {
    return this.#facts.clock(options)
  }

  /** Makes the server follow a jump of the wall clock now. */
  confirmClock(options?: CallOptions): Promise<ServerClock> {
    return this.#facts.confirmClock(options)
  }

  /** What runs, where, and for which sessions. */
  sandboxes(options?: PagingOptions): List<SandboxRecord> {
    return this.#facts.sandboxes(options)
  }

  /** Every error that the server knows. */
  errors(options?: CallOptions): Promise<readonly ErrorKind[]> {
    return this.#facts.errors(options)
  }
}
