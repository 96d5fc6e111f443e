/**
 * The driver of LangBot's own client (`driver.py`), and its clients and relays by name.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { physicalSessionId, placementNamespace } from '@holdfast/protocol/box'

export const INSTANCE = 'inst-1'
export const CONTEXT = { instance_uuid: INSTANCE, workspace_uuid: 'ws-A', placement_generation: 1 }
export type Context = typeof CONTEXT
type Values = Readonly<Record<string, unknown>>

/** What the client raised, by the name of its class. */
export class RaisedError extends Error {
  readonly raised: string
  constructor(raised: string, message: string) {
    super(message)
    this.name = 'RaisedError'
    this.raised = raised
  }
}

export interface LangBotDriver {
  order(name: string, order?: Values): Promise<unknown>
  /** A client of the server at this address, with the headers of LangBot unless it is given others. */
  connect(client: string, url: string, headers?: Readonly<Record<string, string>>): Promise<void>
  /** A client of a server that it starts itself. */
  start(client: string, command: readonly [string, ...string[]], env: NodeJS.ProcessEnv): Promise<void>
  close(): Promise<void>
}

/** `program`: of this folder. */
export function startDriver(python: string, program = 'driver.py'): LangBotDriver {
  // The client keeps files on their way in its working directory.
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-interop-'))
  const child = spawn(python, [join(import.meta.dirname, program)], {
    cwd: directory,
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...foreign(process.env), PYTHONDONTWRITEBYTECODE: '1' },
  })
  const waiting = new Map<number, PromiseWithResolvers<unknown>>()
  let last = 0
  createInterface(child.stdout).on('line', (line) => {
    const { number, value, error }: { number: number; value?: unknown; error?: { class: string; message: string } } = JSON.parse(line)
    const answer = waiting.get(number)
    waiting.delete(number)
    if (error === undefined) answer?.resolve(value)
    else answer?.reject(new RaisedError(error.class, error.message))
  })
  const closed = once(child, 'close').then(() => {
    for (const { reject } of waiting.values()) reject(new Error('the driver has ended'))
  })

  const order: LangBotDriver['order'] = (name, values = {}) => {
    const answer = Promise.withResolvers<unknown>()
    waiting.set((last += 1), answer)
    child.stdin.write(`${JSON.stringify({ number: last, do: name, ...values })}\n`)
    return answer.promise
  }
  return {
    order,
    async connect(client, url, headers = { 'X-LangBot-Instance-Id': INSTANCE }) {
      await order('connect', { client, headers, url: `${url.replace('http', 'ws')}/rpc/ws` })
    },
    async start(client, [command, ...args], env) {
      await order('connect', { client, command, args, env })
    },
    async close() {
      child.stdin.end()
      await closed
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

export interface LangBotClient {
  /** Any method of the Python class, by the names of its parameters. */
  call<T = Record<string, unknown>>(method: string, args?: Values, context?: Context | null): Promise<T>
  /** The class of what a call raises. */
  failure(method: string, args?: Values, context?: Context | null): Promise<string>
  exec(session: string, cmd: string, spec?: Values): Promise<Execution>
  launch(session: string, processId: string, script: string): Promise<ManagedProcess>
  look(session: string, processId: string): Promise<ManagedProcess>
  /** Opens a relay of that name, and resolves with its subprotocol. */
  attach(relay: string, session: string, processId: string): Promise<unknown>
}

export interface Execution {
  readonly session_id: string
  readonly backend_name: string
  readonly status: string
  readonly exit_code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface ManagedProcess {
  readonly status: string
  readonly started_at: string
  readonly exit_code: number | null
  readonly stderr_preview: string
}

/** `context: null` is a client of the older generation. */
export function clientOf(driver: LangBotDriver, name: string, relayUrl: () => string, own: Context | null = CONTEXT): LangBotClient {
  const call = async <T>(method: string, args: Values = {}, context: Context | null = own): Promise<T> =>
    (await driver.order('call', { client: name, method, args, ...(context === null ? {} : { context }) })) as T
  return {
    call,
    async failure(method, args, context) {
      try {
        const value = await call(method, args, context)
        return `no failure: ${JSON.stringify(value)}`
      } catch (error) {
        if (error instanceof RaisedError) return error.raised
        throw error
      }
    },
    exec: (session, cmd, spec = {}) => call('execute', { spec: { session_id: session, cmd, ...spec } }),
    launch: (session, processId, script) =>
      call('start_managed_process', { session_id: session, spec: { process_id: processId, command: 'sh', args: ['-c', script] } }),
    look: (session, processId) => call('get_managed_process', { session_id: session, process_id: processId }),
    async attach(relay, session, processId) {
      const url = await call<string>('get_managed_process_websocket_url', {
        ...{ session_id: session, process_id: processId, ws_relay_base_url: relayUrl() },
      })
      return driver.order('attach', { relay, url, headers: own === null ? {} : relayHeaders(own) })
    },
  }
}

export function physicalId(session: string, { instance_uuid, workspace_uuid, placement_generation }: Context = CONTEXT): string {
  return physicalSessionId(placementNamespace(instance_uuid, workspace_uuid, placement_generation), session)
}

function relayHeaders({ instance_uuid, workspace_uuid, placement_generation }: Context): Readonly<Record<string, string>> {
  return {
    'X-LangBot-Instance-Id': instance_uuid,
    'X-LangBot-Workspace-Id': workspace_uuid,
    'X-LangBot-Placement-Generation': String(placement_generation),
  }
}

/** Of somebody who knows nothing of this repository's tests. */
export function foreign(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !/^(HOLDFAST_|LANGBOT_|npm_)/.test(name)))
}
