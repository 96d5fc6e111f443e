/**
 * A Box server by script: what it answers to each action, and what it was asked. Carried by memory, a WebSocket or a pipe.
 */

export interface Frame {
  readonly seq_id: number
  readonly action: string
  readonly data: Record<string, unknown>
  readonly context?: Record<string, unknown>
}

/** The data of a success; the message of a failure; a whole message as it is; or no answer at all. */
export type Reply = { readonly data: unknown } | { readonly fails: string } | { readonly raw: string } | 'silence'
export type Answer = Reply | ((frame: Frame) => Reply | Promise<Reply>)

export interface Script {
  readonly asked: readonly Frame[]
  on(action: string, answer: Answer): void
  /** The message that goes back, if one does. */
  answer(message: string): Promise<string | null>
  /** The nth question of an action, once it was asked. */
  question(action: string, nth?: number): Promise<Frame>
  actions(): readonly string[]
}

export const CONTEXT = { instance_uuid: 'inst-1', workspace_uuid: 'ws-A', placement_generation: 1 }
export const STATUS = {
  backend: { name: 'docker', available: true },
  ...{ active_sessions: 2, managed_processes: 0, session_ttl_sec: 300 },
  limits: {
    ...{ max_sessions: 64, max_managed_processes: 64, max_completed_processes: 256 },
    ...{ max_admission_records: 100_000, max_rpc_file_bytes: 20_971_520 },
  },
}
export const SESSION = {
  ...{ session_id: 's1', backend_name: 'docker', backend_session_id: 'box-1', image: 'python:3.11-slim', network: 'off' },
  ...{ host_path: null, host_path_mode: 'rw', mount_path: '/workspace', persistent: false, cpus: 1, memory_mb: 512 },
  ...{ pids_limit: 128, read_only_rootfs: true, workspace_quota_mb: 0, status: 'idle' },
  ...{ created_at: '2026-11-15T19:03:17.490376Z', last_used_at: '2026-11-15T19:03:19.110801Z' },
}
export const RESULT = {
  ...{ session_id: 's1', backend_name: 'docker', status: 'completed', exit_code: 0 },
  ...{ stdout: 'hello', stderr: '', duration_ms: 98 },
}

export function createScript(): Script {
  const answers = new Map<string, Answer>([
    ['__ping', { data: {} }],
    ['__file_chunk', { data: {} }],
    ['box_init', { data: { initialized: true } }],
    ['box_get_backend_info', { data: STATUS.backend }],
    ['box_status', { data: STATUS }],
    ['box_get_sessions', { data: { sessions: [SESSION] } }],
    ['box_exec', { data: RESULT }],
  ])
  const asked: Frame[] = []
  const watchers = new Set<() => void>()
  return {
    asked,
    on: (action, answer) => void answers.set(action, answer),
    async answer(message) {
      const frame = JSON.parse(message) as Frame
      asked.push(frame)
      for (const watcher of watchers) watcher()
      const answer = answers.get(frame.action) ?? { fails: `ValueError: unknown action ${frame.action}` }
      const reply = typeof answer === 'function' ? await answer(frame) : answer
      return textOf(frame.seq_id, reply)
    },
    question(action, nth = 1) {
      const { promise, resolve } = Promise.withResolvers<Frame>()
      const look = () => {
        const found = asked.filter((frame) => frame.action === action)[nth - 1]
        if (found === undefined) return
        watchers.delete(look)
        resolve(found)
      }
      watchers.add(look)
      look()
      return promise
    },
    actions: () => asked.map(({ action }) => action),
  }
}

function textOf(number: number, reply: Reply): string | null {
  if (reply === 'silence') return null
  if ('raw' in reply) return reply.raw.replaceAll('<seq>', String(number))
  if ('fails' in reply) return JSON.stringify({ seq_id: number, code: 1, message: reply.fails, data: {}, chunk_status: 'continue' })
  return JSON.stringify({ seq_id: number, code: 0, message: 'success', data: reply.data, chunk_status: 'continue' })
}
