/**
 * Named processes of a session: they live on until they are stopped or their session ends, whoever comes and goes.
 */
import type { ProcessView } from '@holdfast/protocol'
import { callOf } from './call-options.ts'
import type { CallOptions } from './call-options.ts'
import type { ExecutionStatus } from './command-result.ts'
import { commandFields } from './command-wish.ts'
import type { Command, CommandWish } from './command-wish.ts'
import { createExecution } from './execution.ts'
import type { Execution, KillOptions } from './execution.ts'
import type { Killed } from './execution-record.ts'
import type { SessionView } from './session-record.ts'
import type { Transport } from './transport/transport.ts'
import { camel } from './wire-names.ts'

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
}

/** Its output, input and signals go through its execution. */
export interface Process extends ProcessRecord {
  readonly execution: Execution
  /** Ends it with everything it started. */
  stop(options?: KillOptions): Promise<Killed>
}

export interface ProcessOptions extends CommandWish, CallOptions {
  /** Its stdin stays open for `execution.write`. */
  readonly interactive?: boolean | undefined
}

export interface Processes {
  /** `name_taken` while one of that name runs. */
  start(name: string, command: Command, options?: ProcessOptions): Promise<Process>
  /** The newest of each name. */
  list(options?: CallOptions): Promise<readonly Process[]>
  get(name: string, options?: CallOptions): Promise<Process>
  stop(name: string, options?: KillOptions): Promise<Killed>
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
  const processOf = (wire: ProcessView): Process => ({
    ...camel(wire),
    execution: createExecution({ transport, id: wire.execution_id, session: session(), letGo }),
    stop: (options) => stop(wire.name, options),
  })
  return {
    async start(name, command, { interactive, ...options } = {}) {
      const json = { name, ...commandFields(command, options), ...(interactive === undefined ? {} : { interactive }) }
      return processOf(await transport.json<ProcessView>({ method: 'POST', path, json, ...callOf(options) }))
    },
    async list(options = {}) {
      const { items } = await transport.json<{ readonly items: readonly ProcessView[] }>({ path, ...callOf(options) })
      return items.map(processOf)
    },
    get: async (name, options = {}) => processOf(await transport.json<ProcessView>({ path: pathOf(name), ...callOf(options) })),
    stop,
  }
}
