/**
 * Managed processes of Box clients: named processes of their sessions, with any text as their id.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * A process is `running` as soon as it is started, and one of the same id is ended with all its tree first. One that ends by itself is
 * told of for a while, unless too many end after it; one that was stopped is gone at once. Processes outlive connections and the server.
 */
import { isHoldfastError } from '@holdfast/protocol'
import { BoxError, boxTime } from '@holdfast/protocol/box'
import type { BoxManagedProcessInfo, BoxManagedProcessSpec } from '@holdfast/protocol/box'
import type { Caller } from '../../../sessions/caller.ts'
import { complaintsIn } from '../../../sessions/processes/complaints.ts'
import { ProcessOutput } from '../../../sessions/processes/process-output.ts'
import type { ProcessOutputs, ProcessRef } from '../../../sessions/processes/process-outputs.ts'
import type { ProcessRow } from '../../../sessions/processes/processes.ts'
import { TextTail } from '../../../sessions/processes/text-tail.ts'
import type { Sessions } from '../../../sessions/sessions.ts'
import type { SessionRow } from '../../../store/tables/sessions.ts'
import { errorText } from '../../../telemetry/log.ts'
import type { Log } from '../../../telemetry/log.ts'
import { shownIdOf } from '../tenant.ts'
import type { BoxTenant } from '../tenant.ts'
import { namespaceOfOwner } from './box-callers.ts'
import type { BoxCallers } from './box-callers.ts'
import type { BoxConfig } from './box-config.ts'
import type { BoxSessions } from './box-sessions.ts'
import { exitCodeOf } from './exit-code.ts'
import { keyedTurns } from './keyed-turns.ts'
import { withDirectory } from './made-directory.ts'
import { processNameOf } from './process-names.ts'
import type { Launch, ProcessRecords } from './process-records.ts'
import { DOOR_LABEL } from './session-names.ts'

/** Between asking a process to end and killing it. */
const STOP_GRACE_MS = 5_000

export interface FoundProcess {
  readonly caller: Caller
  readonly session: SessionRow
  readonly row: ProcessRow
}

export interface BoxProcesses {
  start(tenant: BoxTenant, logicalId: string, spec: BoxManagedProcessSpec, signal: AbortSignal): Promise<BoxManagedProcessInfo>
  get(tenant: BoxTenant, logicalId: string, processId: string): Promise<BoxManagedProcessInfo>
  stop(tenant: BoxTenant, logicalId: string, processId: string): Promise<void>
  /**
   * `isAddress`: the id is that of a relay's address, in which ids that look alike (`a/b`, `a:b`) are one. Throws `BoxSessionNotFoundError`,
   * `BoxManagedProcessNotFoundError`, and `BoxManagedProcessConflictError` where an address fits several.
   */
  find(tenant: BoxTenant, logicalId: string, processId: string, isAddress?: boolean): Promise<FoundProcess>
  /** Those of a session that are told of. */
  list(tenant: BoxTenant, logicalId: string, session: SessionRow): Promise<readonly BoxManagedProcessInfo[]>
  /** How many run in these sessions. */
  countRunning(sessions: readonly SessionRow[]): Promise<number>
  /** Holds the output of those that run since before this server did. */
  takeUpAll(): Promise<void>
}

export interface BoxProcessesNeeds {
  readonly boxSessions: Pick<BoxSessions, 'find' | 'all'>
  readonly sessions: Pick<Sessions, 'processes' | 'files' | 'commands'>
  readonly callers: BoxCallers
  readonly config: Pick<BoxConfig, 'limits'>
  readonly outputs: ProcessOutputs
  readonly records: ProcessRecords
  readonly clock: () => number
  readonly log: Log
}

export function createBoxProcesses(needs: BoxProcessesNeeds): BoxProcesses {
  const { boxSessions, sessions, callers, config, outputs, records, clock, log } = needs
  const { processes, files, commands } = sessions
  const inTurn = keyedTurns()
  let starting = 0

  async function runningIn({ id, owner, running }: SessionRow): Promise<readonly ProcessRow[]> {
    const namespace = namespaceOfOwner(owner)
    if (running === 0 || namespace === null) return []
    return (await processes.list(callers.of(namespace), id)).filter(({ status }) => status === 'running')
  }

  async function countRunning(rows: readonly SessionRow[]): Promise<number> {
    const counts = await Promise.all(rows.map(async (row) => (await runningIn(row)).length))
    return counts.reduce((total, count) => total + count, 0)
  }

  /** Those that are told of: one that was stopped is not, and one that ended not for ever, nor after too many others. */
  async function toldOf(rows: readonly ProcessRow[]): Promise<readonly ProcessRow[]> {
    if (rows.every(({ status }) => status === 'running')) return rows
    const { completed_process_retention_sec: seconds, max_completed_processes: most } = config.limits
    const filter = { label: DOOR_LABEL, endedAfter: clock() - seconds * 1000 }
    const ended = new Set(await processes.listEnded(callers.door, filter, most))
    return rows.filter(({ id, status }) => status === 'running' || ended.has(id))
  }

  async function newest(caller: Caller, sessionId: string, name: string): Promise<ProcessRow | null> {
    return processes.get(caller, sessionId, name).catch((error: unknown) => {
      if (isHoldfastError(error, 'not_found')) return null
      throw error
    })
  }

  async function find(tenant: BoxTenant, logicalId: string, processId: string, isAddress = false): Promise<FoundProcess> {
    const caller = callers.of(tenant.namespace)
    const found: FoundProcess[] = []
    for (const session of await boxSessions.find(tenant, logicalId)) {
      const row = await newest(caller, session.id, processNameOf(processId))
      if (row !== null && (await toldOf([row])).length > 0) found.push({ caller, session, row })
      // The first is the session with this very id, if there is one; an address has lost what tells ids apart.
      if (found.length > 0 && !isAddress) break
    }
    const running = found.filter(({ row }) => row.status === 'running')
    if (running.length > 1)
      throw new BoxError(
        'BoxManagedProcessConflictError',
        'several sessions with ids that look alike have this process; rename one of them',
      )
    const [only] = running.length === 1 ? running : found
    if (only !== undefined) return only
    throw new BoxError('BoxManagedProcessNotFoundError', `there is no managed process '${processId.slice(0, 255)}' in this session`)
  }

  async function complaintsOf(caller: Caller, { id, sessionId, outputSeq }: ProcessRow): Promise<string> {
    const remembered = outputs.stderrOf(id)
    if (remembered !== null) return remembered
    const tail = new TextTail()
    tail.add(await complaintsIn(await commands.output(caller, sessionId, id), outputSeq))
    return tail.text()
  }

  async function infoOf(
    tenant: BoxTenant,
    logicalId: string,
    { caller, row }: Omit<FoundProcess, 'session'>,
  ): Promise<BoxManagedProcessInfo> {
    const launch = (await records.readLaunch(row.sessionId, row.name)) ?? { ...UNKNOWN, process_id: row.name }
    return {
      session_id: shownIdOf(tenant, logicalId),
      ...launch,
      status: row.status === 'running' ? 'running' : 'exited',
      attached: (outputs.held(row.id)?.line.attached ?? 0) > 0,
      started_at: boxTime(row.startedAt),
      exited_at: row.endedAt === null ? null : boxTime(row.endedAt),
      exit_code: row.status === 'running' ? null : exitCodeOf(row),
      stderr_preview: (await complaintsOf(caller, row)).trim(),
    }
  }

  async function checkRoom(): Promise<void> {
    const { max_managed_processes: most } = config.limits
    if ((await countRunning(await boxSessions.all())) + starting >= most)
      throw new BoxError('BoxCapacityExceededError', `${most} managed processes run, and no more may`)
  }

  async function startNow(caller: Caller, sessionId: string, spec: BoxManagedProcessSpec, signal: AbortSignal): Promise<ProcessRow> {
    const name = processNameOf(spec.process_id)
    const before = await newest(caller, sessionId, name)
    if (before?.status === 'running') await processes.stop(caller, sessionId, name, STOP_GRACE_MS)
    await checkRoom()
    starting += 1
    try {
      await records.writeLaunch(sessionId, name, launchOf(spec))
      const output = new ProcessOutput()
      const request = { name, command: commandOf(spec), onOutput: output.take.bind(output) }
      const row = await withDirectory(files, { caller, sessionId, signal }, spec.cwd, () =>
        processes.start(caller, sessionId, request, signal),
      )
      await outputs.hold(caller, refOf(row), output)
      return row
    } finally {
      starting -= 1
    }
  }

  return {
    async start(tenant, logicalId, spec, signal) {
      const caller = callers.of(tenant.namespace)
      const [{ id }] = await boxSessions.find(tenant, logicalId)
      const row = await inTurn(`${id} ${spec.process_id}`, () => startNow(caller, id, spec, signal))
      // How it is doing by now is for the next question.
      const launched = { ...row, status: 'running', endedAt: null, exitCode: null } as const
      return infoOf(tenant, logicalId, { caller, row: launched })
    },
    async get(tenant, logicalId, processId) {
      return infoOf(tenant, logicalId, await find(tenant, logicalId, processId))
    },
    async stop(tenant, logicalId, processId) {
      const { caller, session, row } = await find(tenant, logicalId, processId)
      await inTurn(`${session.id} ${processId}`, () => processes.stop(caller, session.id, row.name, STOP_GRACE_MS))
    },
    find,
    async list(tenant, logicalId, { id }) {
      const caller = callers.of(tenant.namespace)
      const told = await toldOf(await processes.list(caller, id))
      return Promise.all(told.map((row) => infoOf(tenant, logicalId, { caller, row })))
    },
    countRunning,
    async takeUpAll() {
      for (const session of await boxSessions.all()) {
        const namespace = namespaceOfOwner(session.owner)
        if (namespace === null) continue
        for (const row of await runningIn(session))
          await outputs.open(callers.of(namespace), refOf(row)).catch((error: unknown) => {
            // Decision: whoever attaches to it opens it again; until then nobody holds it up.
            log.warn('box-process-not-held', { execution: row.id, error: errorText(error) })
          })
      }
    },
  }
}

const UNKNOWN: Launch = { process_id: '', command: '', args: [], cwd: '/workspace', env_keys: [] }

function refOf({ id, sessionId, name }: ProcessRow): ProcessRef {
  return { sessionId, name, executionId: id }
}

function launchOf({ process_id, command, args, cwd, env }: BoxManagedProcessSpec): Launch {
  return { process_id, command, args, cwd, env_keys: Object.keys(env).toSorted() }
}

/** Found by the path of its own environment; one that is not there is a process that ended with 127. */
function commandOf({ command, args, cwd, env }: BoxManagedProcessSpec) {
  return { argv: ['/bin/sh', '-c', 'exec "$0" "$@"', command, ...args], cwd, env, interactive: true }
}
