/** A runtime that says what a test wrote for it, and keeps what it was asked: the wire alone is under test. */
import type { BoxExecutionResult, BoxManagedProcessInfo, BoxSessionInfo, BoxStatus } from '@holdfast/protocol/box'
import { BoxError } from '@holdfast/protocol/box'
import { createSkillStore } from '../../../skills/skill-store.ts'
import { jsonLog } from '../../../telemetry/log.ts'
import type { BoxRuntime } from '../runtime.ts'
import { physicalIdOf } from '../tenant.ts'

export interface Asked {
  readonly method: string
  readonly workspace: string | null
  readonly about: unknown
}

export interface ScriptedRuntime extends BoxRuntime {
  readonly asked: Asked[]
}

export const RESULT: BoxExecutionResult = {
  ...{ session_id: 's1', backend_name: 'docker', status: 'completed', exit_code: 0 },
  ...{ stdout: 'hello\n0\n/workspace', stderr: '', duration_ms: 98 },
}
export const SESSION: BoxSessionInfo = {
  ...{ session_id: 's1', backend_name: 'docker', backend_session_id: 'sbx_1', image: 'python:3.11-slim', network: 'off' },
  ...{ host_path: '/srv/boxroot/default', host_path_mode: 'rw', mount_path: '/workspace', persistent: false, cpus: 1, memory_mb: 512 },
  ...{ pids_limit: 128, read_only_rootfs: true, workspace_quota_mb: 0, status: 'idle' },
  ...{ created_at: '2026-11-15T19:03:17.490376Z', last_used_at: '2026-11-15T19:03:19.110801Z' },
}
export const PROCESS: BoxManagedProcessInfo = {
  ...{ session_id: 's1', process_id: 'p2', status: 'exited', command: 'sh', args: ['-c', '...'], cwd: '/workspace', env_keys: [] },
  ...{
    attached: false,
    started_at: '2026-11-15T19:03:22.608283Z',
    exited_at: '2026-11-15T19:03:22.759429Z',
    exit_code: 7,
    stderr_preview: 'oops',
  },
}
export const STATUS: BoxStatus = {
  ...{ backend: { name: 'docker', available: true }, active_sessions: 2, managed_processes: 1, session_ttl_sec: 300 },
  limits: {
    ...{ max_sessions: 64, max_managed_processes: 64, max_completed_processes: 256 },
    ...{ max_admission_records: 100_000, max_rpc_file_bytes: 20_971_520 },
  },
}

/** Answers with physical ids where a runtime may, so that it shows when they get out. */
export function scriptedRuntime(skillsDirectory: string, script: Partial<BoxRuntime> = {}): ScriptedRuntime {
  const asked: Asked[] = []
  const note = (method: string, workspace: string | null, about: unknown = null) => void asked.push({ method, workspace, about })
  const store = createSkillStore({ directory: skillsDirectory, clock: Date.now, log: jsonLog('error') })
  return {
    asked,
    init: async (config) => note('init', null, config),
    backendInfo: async () => ({ name: 'docker', available: true }),
    status: async () => STATUS,
    storage: async () => ({ size_bytes: 0, directories: [], active_sessions: 2, managed_processes: 1 }),
    shutdown: async () => note('shutdown', null),
    verifySharedWorkspace: async (name) => ({ marker_name: name, sha256: 'ab', size: 2 }),
    async exec(tenant, spec) {
      note('exec', tenant.workspace, spec)
      return { ...RESULT, session_id: physicalIdOf(tenant, spec.session_id) }
    },
    async createSession(tenant, spec) {
      note('createSession', tenant.workspace, spec)
      return { ...SESSION, session_id: physicalIdOf(tenant, spec.session_id) }
    },
    getSession: async (tenant, id) => ({
      ...SESSION,
      session_id: physicalIdOf(tenant, id),
      managed_processes: { p2: { ...PROCESS, session_id: physicalIdOf(tenant, id) } },
    }),
    getSessions: async (tenant) => [{ ...SESSION, session_id: physicalIdOf(tenant, 's1') }],
    async deleteSession(tenant, id) {
      note('deleteSession', tenant.workspace, id)
      if (id === 'missing') throw new BoxError('BoxSessionNotFoundError', `there is no session ${physicalIdOf(tenant, id)}`)
    },
    async startProcess(tenant, id, spec) {
      note('startProcess', tenant.workspace, spec)
      return { ...PROCESS, session_id: physicalIdOf(tenant, id), process_id: spec.process_id }
    },
    getProcess: async (tenant, id, processId) => ({ ...PROCESS, session_id: physicalIdOf(tenant, id), process_id: processId }),
    stopProcess: async (tenant, id, processId) => note('stopProcess', tenant.workspace, [id, processId]),
    attach: async () => Promise.reject(new BoxError('BoxManagedProcessNotFoundError', 'no such process')),
    skills: () => store,
    latestGeneration: async () => null,
    dropOtherGenerations: async (tenant) => note('dropOtherGenerations', tenant.workspace, tenant.generation),
    counts: () => ({ sessions: 2, managed_processes: 1, completed_processes: 0 }),
    close: async () => note('close', null),
    ...script,
  }
}
