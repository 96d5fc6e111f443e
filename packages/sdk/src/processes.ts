/**
 * Named processes of a session: they live on until they are stopped or their session ends, whoever comes and goes.
 */
import type { ProcessDetails, ProcessView } from '@holdfast/protocol'
import { callOf } from './call-options.ts'
import type { CallOptions } from './call-options.ts'
import type { ExecutionStatus } from './command-result.ts'
import { commandFields } from './command-wish.ts'
import type { Command, CommandWish } from './command-wish.ts'
import { createExecution } from './execution.ts'
import type { Execution, KillOptions } from './execution.ts'
import type { Killed } from './execution-record.ts'
import { refuseUnknown } from './known-options.ts'
import type { OptionNames } from './known-options.ts'
import { connectProcess } from './process-connection.ts'
import type { AttachOptions, ProcessConnection } from './process-connection.ts'
import type { SessionView } from './session-record.ts'
import { RECONNECT_MS } from './transport/follow.ts'
import type { Transport } from './transport/transport.ts'
import { camel, snake } from './wire-names.ts'

export interface ProcessRecord {
  readonly name: string
  readonly executionId: string
  readonly sessionId: string
  readonly status: ExecutionStatus
  readonly exitCode: number | null
  readonly signal: string | null
  readonly startedAt: string
  readonly endedAt: string | null
  /** Bytes that it has printed so far. */
  readonly outputSeq: number
  /** How it is started again when it ends; `null`: it is not. */
  readonly restart: { readonly policy: RestartPolicy; readonly maxRestarts: number | null; readonly backoffMs: number } | null
  /** How often it was. */
  readonly restarts: number
  /** When it will be again; `null`: it runs, or it is over. */
  readonly nextStartAt: string | null
  /** Clients that are attached to it. */
  readonly attached: number
  /** The end of its stderr, at most 4 KiB; `null` where it was not asked for (in a list), or may not be read. */
  readonly stderrTail: string | null
}

/** `on-failure`: not after exit code 0. */
export type RestartPolicy = 'no' | 'on-failure' | 'always'

export interface RestartRules {
  readonly policy: RestartPolicy
  /** In all; without, there is no limit. */
  readonly maxRestarts?: number | undefined
  /** Before the first restart, a second unless given; twice as long before each further one, up to half a minute. */
  readonly backoffMs?: number | undefined
}

/** Its output, input and signals go through its execution. */
export interface Process extends ProcessRecord {
  readonly execution: Execution
  /** Ends it with everything it started. */
  stop(options?: KillOptions): Promise<Killed>
  /** Reads and writes it over a WebSocket; this execution, unless another is given. */
  attach(options?: AttachOptions): Promise<ProcessConnection>
}

export interface ProcessOptions extends CommandWish, CallOptions {
  /** Its stdin stays open for `execution.write`. */
  readonly interactive?: boolean | undefined
  /** Started again when it ends by itself; without, it is started once. */
  readonly restart?: RestartPolicy | RestartRules | undefined
}

export interface Processes {
  /** `name_taken` while one of that name runs. */
  start(name: string, command: Command, options?: ProcessOptions): Promise<Process>
  /** The newest of each name. */
  list(options?: CallOptions): Promise<readonly Process[]>
  get(name: string, options?: CallOptions): Promise<Process>
  /** Ends it with everything it started, for good: it is not started again. */
  stop(name: string, options?: KillOptions): Promise<Killed>
  /** To the newest of that name, also to one that has ended, for what it printed last. */
  attach(name: string, options?: AttachOptions): Promise<ProcessConnection>
}

const PROCESS_OPTIONS: OptionNames<ProcessOptions> = {
  ...{ cwd: true, env: true, expectedIncarnation: true },
  ...{ interactive: true, restart: true, signal: true, timeoutMs: true },
}

export interface ProcessesNeeds {
  readonly transport: Transport
  readonly session: () => SessionView
  readonly letGo: AbortSignal
}

export function createProcesses({ transport, session, letGo }: ProcessesNeeds): Processes {
  const path = `/v1/sessions/${session().id}/processes`
  const pathOf = (name: string) => `${path}/${encodeURIComponent(name)}`
  const stop: Processes['stop'] = (name, { graceMs, ...options } = {}) =>
    transport.json<Killed>({ method: 'DELETE', path: pathOf(name), query: { grace_ms: graceMs }, ...callOf(options) })
  const attach: Processes['attach'] = async (name, options = {}) => {
    // A WebSocket would not say that there is none.
    await transport.json<ProcessView>({ path: pathOf(name), ...callOf(options) })
    const { reconnectMs = RECONNECT_MS } = options
    return connectProcess({ transport, letGo, reconnectMs, path: `${pathOf(name)}/attach` }, options)
  }
  const processOf = (wire: ProcessView | ProcessDetails): Process => ({
    stderrTail: null,
    ...camel(wire),
    restart: wire.restart === null ? null : camel(wire.restart),
    attach: (options) => attach(wire.name, { execution: wire.execution_id, ...options }),
    execution: createExecution({ transport, id: wire.execution_id, session: session(), letGo }),
    stop: (options) => stop(wire.name, options),
  })
  return {
    async start(name, command, given = {}) {
      refuseUnknown('processes.start', given, PROCESS_OPTIONS)
      const { interactive, restart, ...options } = given
      const rules = typeof restart === 'string' ? { policy: restart } : restart
      const json = {
        ...{ name, ...commandFields(command, options), ...(interactive === undefined ? {} : { interactive }) },
        ...(rules === undefined ? {} : { restart: snake(rules) }),
      }
      return processOf(await transport.json<ProcessDetails>({ method: 'POST', path, json, ...callOf(options) }))
    },
    async list(options = {}) {
      const { items } = await transport.json<{ readonly items: readonly ProcessView[] }>({ path, ...callOf(options) })
      return items.map(processOf)
    },
    get: async (name, options = {}) => processOf(await transport.json<ProcessDetails>({ path: pathOf(name), ...callOf(options) })),
    stop,
    attach,
  }
}
