/**
 * The gateway on a real port, over the test server as a child process, for official clients.
 */
import { HoldfastError } from '@holdfast/protocol'
import { Client as ModernClient, StreamableHTTPClientTransport as ModernHttp } from '@modelcontextprotocol/client'
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { AuthenticateRequest } from '../../../../access/authenticate.ts'
import { hostCheck } from '../../../../access/listen-address.ts'
import type { Principal } from '../../../../access/principal.ts'
import { everythingLines } from '../../../../mcp/share/contract/child-lines.ts'
import type { ChildLines } from '../../../../mcp/share/contract/child-lines.ts'
import { shareServer } from '../../../../mcp/share/shared-server.ts'
import type { SharedServer, ShareNeeds } from '../../../../mcp/share/shared-server.ts'
import { randomId } from '../../../../home/random-id.ts'
import type { Caller } from '../../../../sessions/caller.ts'
import { jsonLog } from '../../../../telemetry/log.ts'
import { listen } from '../../../http-listener.ts'
import type { DoorNeeds } from '../../../rest/door.ts'
import { WORK_LIMITS } from '../../../pipeline/limits.ts'
import type { WorkLimits } from '../../../pipeline/limits.ts'
import { workBudget } from '../../../pipeline/work-budget.ts'
import type { WorkBudget } from '../../../pipeline/work-budget.ts'
import { mcpGatewayServer } from '../../gateway-server.ts'
import { mcpGateway } from '../../gateway.ts'
import type { McpGateway } from '../../gateway.ts'
import type { GatewayLimits } from '../limits.ts'
import type { ToolRules } from '../tool-rules.ts'

export interface Laboratory extends AsyncDisposable {
  readonly url: string
  readonly gateway: McpGateway
  /** The one that runs now. */
  readonly budget: WorkBudget
  readonly server: SharedServer
  readonly starts: number
}

export interface LaboratoryOptions {
  readonly era?: 'legacy' | 'modern'
  readonly lines?: () => ChildLines
  readonly tools?: ToolRules
  readonly recheck?: () => Promise<void>
  readonly share?: Partial<ShareNeeds>
  readonly limits?: Partial<GatewayLimits>
  readonly work?: Partial<WorkLimits>
}

export const KEY = 'key-of-one'
export const OTHER_KEY = 'key-of-another'

export async function openLaboratory({
  era = 'legacy',
  lines,
  tools,
  recheck,
  share,
  limits = {},
  work = {},
}: LaboratoryOptions = {}): Promise<Laboratory> {
  const log = jsonLog('error')
  let server: SharedServer | null = null
  let starts = 0
  const start = () => {
    starts += 1
    return shareServer({
      lines: lines?.() ?? everythingLines(era),
      clientInfo: { name: 'holdfast', version: '1' },
      ...{ clock: Date.now, log, onLog: () => {} },
      ...share,
    })
  }
  const running = () => (server === null || server.isOver ? (server = start()) : server)
  const gateway = mcpGateway({ clock: Date.now, newId: () => randomId('mcp'), limits })
  const budget = workBudget({ ...WORK_LIMITS, ...work })
  const served = mcpGatewayServer({
    ...door(log),
    budget,
    gateway,
    async targetOf({ server: name, principal }) {
      if (name !== 'everything') throw new HoldfastError('not_found', `there is no MCP server ${name}`)
      return {
        visitor: principal.subject,
        holder: `${principal.subject} ${name}`,
        open: async () => ({ server: running(), tools, recheck }),
      }
    },
  })
  const listener = await listen(
    () => new Response('no', { status: 404 }),
    () => {},
    '127.0.0.1',
    0,
    (request, answer) => {
      served(request, answer)
      return true
    },
  )
  return {
    url: `http://127.0.0.1:${listener.port}/mcp/everything`,
    gateway,
    budget,
    get server() {
      return running()
    },
    get starts() {
      return starts
    },
    async [Symbol.asyncDispose]() {
      gateway.close()
      server?.close()
      await listener.close()
    },
  }
}

function door(log: DoorNeeds['log']): Omit<DoorNeeds, 'routes'> {
  const authenticate: AuthenticateRequest = async ({ authorization }) => {
    const subject = new Map([
      [`Bearer ${KEY}`, 'one'],
      [`Bearer ${OTHER_KEY}`, 'another'],
    ]).get(authorization ?? '')
    if (subject === undefined) throw new HoldfastError('unauthorized', 'no key')
    return { tenantId: 'tnt_default', subject, keyId: `key_${subject}` } as Principal
  }
  return {
    authenticate,
    callerOf: async () => ({}) as Caller,
    admit: () => ({}) as never,
    clientAddress: () => '127.0.0.1',
    checkHost: hostCheck('127.0.0.1'),
    allowedOrigins: new Set(['https://allowed.example']),
    idempotency: { once: () => Promise.reject(new Error('nothing is repeated here')) },
    log,
  }
}

const INFO = { name: 'test-client', version: '1.0.0' }
const headers = { authorization: `Bearer ${KEY}` }

export async function legacyClient(url: string, capabilities = {}): Promise<LegacyClient> {
  const client = new LegacyClient(INFO, { capabilities })
  await client.connect(new LegacyHttp(new URL(url), { requestInit: { headers } }))
  return client
}

export async function modernClient(url: string, capabilities = {}): Promise<ModernClient> {
  const client = new ModernClient(INFO, { capabilities, versionNegotiation: { mode: { pin: '2026-07-28' } } })
  await client.connect(new ModernHttp(new URL(url), { requestInit: { headers } }))
  return client
}

/** The client of 2.x that speaks as before. */
export async function newClientOfBefore(url: string): Promise<ModernClient> {
  const client = new ModernClient(INFO, { versionNegotiation: { mode: 'legacy' } })
  await client.connect(new ModernHttp(new URL(url), { requestInit: { headers } }))
  return client
}

/** A message without any client's help. */
export function post(url: string, message: unknown, more: Readonly<Record<string, string>> = {}): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...more },
    body: typeof message === 'string' ? message : JSON.stringify(message),
  })
}
