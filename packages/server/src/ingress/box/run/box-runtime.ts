/**
 * What a Box client drives: ordinary sessions, their commands and processes, and the skills of its workspace.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * Reads like a table of contents of this folder.
 */
import { join } from 'node:path'
import type { SandboxWish } from '@holdfast/protocol'
import { BoxError, BoxSpec } from '@holdfast/protocol/box'
import type { Sealing } from '../../../home/sealing.ts'
import type { SessionMounts } from '../../../policy/session-mounts.ts'
import type { SandboxBackend } from '../../../sandboxes/backend.ts'
import type { SandboxUser } from '../../../sandboxes/spec.ts'
import type { EventListeners } from '../../../sessions/events/event-listeners.ts'
import { isClosed } from '../../../sessions/lifecycle/state.ts'
import { attachTo } from '../../../sessions/processes/process-attachment.ts'
import type { ProcessAttachment } from '../../../sessions/processes/process-attachment.ts'
import { createProcessOutputs } from '../../../sessions/processes/process-outputs.ts'
import type { Sessions } from '../../../sessions/sessions.ts'
import type { Workspaces } from '../../../sessions/workspaces.ts'
import { auditedSkills } from '../../../skills/audited-skills.ts'
import type { Skills } from '../../../skills/skills.ts'
import type { SkillViews } from '../../../skills/skill-views.ts'
import type { SessionRow } from '../../../store/tables/sessions.ts'
import type { Store } from '../../../store/store.ts'
import { errorText } from '../../../telemetry/log.ts'
import type { Log } from '../../../telemetry/log.ts'
import type { BoxErrors } from '../box-errors.ts'
import type { BoxRuntime } from '../runtime.ts'
import type { BoxTenant } from '../tenant.ts'
import { backendStatus } from './backend-status.ts'
import { boxCallers } from './box-callers.ts'
import { boxConfig } from './box-config.ts'
import { createArtifacts } from './artifacts.ts'
import { createBoxExec } from './box-exec.ts'
import { boxOverview } from './box-overview.ts'
import type { BoxOverview } from './box-overview.ts'
import { createBoxProcesses } from './box-processes.ts'
import { createBoxSessions } from './box-sessions.ts'
import { hostDirectories } from './host-directories.ts'
import { hostRootOf } from './owners-places.ts'
import { createProcessRecords } from './process-records.ts'
import { sessionInfoOf } from './session-info.ts'
import { SESSION_TTL_SECONDS, wishOf } from './session-request.ts'
import { readMarker } from './shared-workspace.ts'
import { storageAnalysis } from './storage-analysis.ts'
import { withWorkspaceSkills } from './workspace-skills.ts'

/** A backend that says nothing for so long is not available. */
const PROBE_MS = 5_000
const SWEEP_EVERY_MS = 600_000
const DEFAULT_PROCESS = 'default'

export interface RunningBoxRuntime extends BoxRuntime {
  /** What REST callers see of Box clients. */
  readonly overview: BoxOverview
  attach(tenant: BoxTenant, logicalId: string, processId: string): Promise<ProcessAttachment>
}

export interface BoxRuntimeNeeds {
  readonly sessions: Pick<Sessions, 'getOrCreate' | 'reads' | 'steering' | 'commands' | 'processes' | 'streams' | 'files'>
  readonly listeners: EventListeners
  /** Holds the audit. */
  readonly store: Store
  /** The id of the Holdfast tenant to which everything of this door belongs. */
  readonly tenantId: string
  readonly backend: Pick<SandboxBackend, 'kind' | 'list'>
  /** Throws what a session with this wish would be refused for. */
  readonly checkSandbox: (wish: SandboxWish, owner: string) => Promise<void>
  /** Whether the backend does. */
  readonly runsImages: boolean
  /** The operator's `box.ignore_images`. */
  readonly ignoresImages: boolean
  readonly skills: Pick<Skills, 'forTenant'>
  readonly views: Pick<SkillViews, 'place' | 'fill' | 'bound'>
  readonly mounts: Pick<SessionMounts, 'of'>
  readonly workspaces: Pick<Workspaces, 'storageOf' | 'filesOf'>
  readonly sealing: Sealing
  /** The server's home, which no sandbox sees. */
  readonly stateDir: string
  /** The operator's directory for what clients share with the host; `null`: in the server's home. */
  readonly hostRoot: string | null
  /** The operator's `mounts.allowed_roots`. */
  readonly allowedRoots: readonly string[]
  readonly user: SandboxUser
  /** What the wire recorded of failures. */
  readonly errors: BoxErrors
  readonly clock: () => number
  readonly log: Log
}

/** Resolves once the processes that an earlier life of this server left are held again. */
export async function openBoxRuntime(needs: BoxRuntimeNeeds): Promise<RunningBoxRuntime> {
  const { sessions, listeners, store, tenantId, backend, skills, views, sealing, stateDir, allowedRoots, user, clock, log } = needs
  const { mounts, workspaces } = needs
  const callers = boxCallers(tenantId)
  const hostRoot = hostRootOf(stateDir, needs.hostRoot)
  const config = boxConfig(hostRoot.path)
  const directories = hostDirectories({
    ...{ config, hostRoot, allowedRoots, user },
    checkMounts: (tenant, wished) => mounts.of({ mounts: [...wished] }, { tenantId, owner: callers.of(tenant.namespace).owner }, []),
  })
  const artifacts = createArtifacts({ storageOf: workspaces.storageOf })
  const skillsRoot = (namespace: string) => skills.forTenant(namespace).directory
  const ignoresImages = needs.ignoresImages && !needs.runsImages
  const boxSessions = createBoxSessions({
    ...{ sessions, listeners, callers, config, directories, artifacts, views, skillsRoot, ignoresImages, log },
  })
  const { exec, isRunning } = createBoxExec({ boxSessions, sessions, backendName: backend.kind })
  const facts = { backendName: backend.kind, isRunning }
  const infoOf = (tenant: BoxTenant, row: SessionRow) => sessionInfoOf(tenant, row, facts)
  const analyse = storageAnalysis({ commands: sessions.commands, callers, filesOf: workspaces.filesOf })
  const records = createProcessRecords({ directory: join(stateDir, 'box', 'processes'), sealing })
  const outputs = createProcessOutputs({
    ...{ streams: sessions.streams, places: records, log },
    mostEnded: () => config.limits.max_completed_processes,
  })
  const processes = createBoxProcesses({ boxSessions, sessions, callers, config, outputs, records, clock, log })

  const backendInfo = backendStatus({
    name: backend.kind,
    list: () => backend.list(AbortSignal.timeout(PROBE_MS)),
    checkUsual: () => needs.checkSandbox(wishOf(BoxSpec.parse({ session_id: 'usual' }), null, []), callers.door.owner),
  })

  /** What is kept of sessions that are over. */
  async function sweep(): Promise<void> {
    for (const sessionId of await records.sessions()) {
      const session = await sessions.reads.hosted({ id: sessionId, tenantId })
      if (session === null || isClosed(session.state)) await records.remove(sessionId)
    }
  }
  const sweepQuietly = () => void sweep().catch((error: unknown) => log.warn('box-records-not-swept', { error: errorText(error) }))
  const sweeping = setInterval(sweepQuietly, SWEEP_EVERY_MS)
  sweeping.unref()
  sweepQuietly()
  await processes.takeUpAll().catch((error: unknown) => log.warn('box-processes-not-held', { error: errorText(error) }))

  return {
    overview: boxOverview({
      ...{ tenantId, sessions, config, facts, backendInfo, countRunning: processes.countRunning, errors: needs.errors },
      countAll: async () => (await boxSessions.all()).length,
    }),
    async init(sections) {
      config.init(sections)
      if (sections['backend'] !== undefined && config.backend !== null && config.backend !== backend.kind)
        log.warn('box-backend-differs', { client: config.backend, server: backend.kind })
      await directories.makeShared(config.defaultWorkspace)
    },
    backendInfo,
    async status(tenant) {
      const [info, rows, all] = await Promise.all([backendInfo(), boxSessions.list(tenant), boxSessions.all()])
      const { completed_process_retention_sec: _retention, ...limits } = config.limits
      const { max_sessions: limit } = limits
      const remaining = Math.max(0, limit - Math.max(rows.length, all.length))
      return {
        backend: info,
        active_sessions: rows.length,
        managed_processes: await processes.countRunning(rows),
        session_ttl_sec: SESSION_TTL_SECONDS,
        capacity: { limit, used: rows.length, remaining },
        limits,
      }
    },
    async storage(tenant) {
      const rows = await boxSessions.list(tenant)
      const { path: directory, shownAs } = directories.ownOf(tenant)
      return analyse(tenant, { directory, shownAs, sessions: rows, managedProcesses: await processes.countRunning(rows) })
    },
    shutdown: () => boxSessions.endAll(),
    verifySharedWorkspace: (markerName) => readMarker(config.defaultWorkspace, markerName),
    exec,
    async createSession(tenant, spec, signal) {
      const { caller, id } = await boxSessions.enter(tenant, spec, signal)
      const row = await sessions.reads.open(caller, 'read', id)
      if (row.state !== 'closing' && !isClosed(row.state)) return infoOf(tenant, row)
      boxSessions.forget(tenant, spec.session_id)
      const again = await boxSessions.enter(tenant, spec, signal)
      return infoOf(tenant, await sessions.reads.open(caller, 'read', again.id))
    },
    async getSession(tenant, logicalId) {
      const [row] = await boxSessions.find(tenant, logicalId)
      const infos = await processes.list(tenant, logicalId, row)
      const known = infos.find(({ process_id: id }) => id === DEFAULT_PROCESS)
      return {
        ...infoOf(tenant, row),
        ...(infos.length === 0 ? {} : { managed_processes: Object.fromEntries(infos.map((info) => [info.process_id, info])) }),
        ...(known === undefined ? {} : { managed_process: known }),
      }
    },
    async getSessions(tenant) {
      return (await boxSessions.list(tenant)).map((row) => infoOf(tenant, row))
    },
    async deleteSession(tenant, logicalId) {
      const [row] = await boxSessions.find(tenant, logicalId)
      await boxSessions.end(row)
      await records.remove(row.id)
    },
    startProcess: processes.start,
    getProcess: processes.get,
    stopProcess: processes.stop,
    async attach(tenant, logicalId, processId) {
      const { caller, row } = await processes.find(tenant, logicalId, processId, true)
      if (row.status !== 'running') throw new BoxError('BoxManagedProcessConflictError', 'the managed process has ended')
      const ref = { sessionId: row.sessionId, name: row.name, executionId: row.id }
      const held = await outputs.open(caller, ref)
      return attachTo(held, () => void outputs.savePlace(ref))
    },
    skills(tenant) {
      const { namespace } = tenant
      const by = { actor: callers.of(namespace).actor }
      const audited = auditedSkills({ skills: skills.forTenant(namespace), store, clock, tenantId, by })
      return withWorkspaceSkills({ store: audited, clock, log, locate: (path) => directories.locate(tenant, path) })
    },
    async latestGeneration(tenant) {
      const generations = await boxSessions.generations(tenant)
      return generations.length === 0 ? null : Math.max(...generations)
    },
    dropOtherGenerations: boxSessions.endOtherGenerations,
    counts() {
      const { running, ended } = outputs.counts
      return { sessions: boxSessions.count, managed_processes: running, completed_processes: ended }
    },
    async close() {
      clearInterval(sweeping)
      await outputs.close()
    },
  }
}
