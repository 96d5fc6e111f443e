/** The typed client sends what the reference says, waits as long, and recovers the class of a failure. */
import { BoxError } from '@holdfast/protocol/box'
import { describe, expect, test } from 'vitest'
import { CONTEXT, RESULT, SESSION, STATUS } from '../contract/script.ts'
import { createBoxClient } from './box-client.ts'
import type { BoxClient } from './box-client.ts'
import type { CallOptions } from './rpc.ts'

interface Asked {
  readonly action: string
  readonly data: object
  readonly options: CallOptions
}

/** A client whose calls are answered with this, and what it asked. */
function stage(answer: unknown): { readonly client: BoxClient; readonly asked: Asked[] } {
  const asked: Asked[] = []
  const call = async (action: string, data: object, options: CallOptions) => {
    asked.push({ action, data, options })
    return (typeof answer === 'function' ? answer(action, data) : answer) as Record<string, unknown>
  }
  return { client: createBoxClient(call, () => '0b38fe81-f029-4eb0-863c-a40af9863efa'), asked }
}

const SKILL = { name: 'demo', display_name: 'Demo', description: 'd', instructions: 'i', package_root: '/skills/demo' }
const PROCESS = {
  ...{ session_id: 's1', process_id: 'p2', status: 'exited', command: 'sh', args: ['-c', 'x'], cwd: '/workspace', env_keys: [] },
  ...{ attached: false, started_at: '2026-11-15T19:03:22.608283Z', exited_at: null, exit_code: 7, stderr_preview: 'oops' },
}
const GRANT = {
  ...{ instance_uuid: 'inst-1', workspace_uuid: 'ws-A', execution_generation: 1, entitlement_revision: 2 },
  ...{ expires_at: '2027-01-01T00:00:00+00:00', max_sessions: 1, max_managed_processes: 1 },
}

/** Every action: how it is called, what goes out, whether it belongs to a workspace, how long it waits, and an answer to it. */
const CALLS: readonly {
  readonly action: string
  readonly call: (client: BoxClient) => Promise<unknown>
  readonly data: unknown
  readonly isTenant: boolean
  readonly seconds: number
  readonly answer: unknown
  readonly gives?: unknown
}[] = [
  { action: '__ping', call: (c) => c.ping(), data: {}, isTenant: false, seconds: 15, answer: {} },
  { action: 'box_init', call: (c) => c.init({ a: 1 }), data: { a: 1 }, isTenant: false, seconds: 15, answer: { initialized: true } },
  { action: 'box_health', call: (c) => c.health(), data: {}, isTenant: false, seconds: 15, answer: STATUS.backend },
  { action: 'box_get_backend_info', call: (c) => c.backendInfo(), data: {}, isTenant: false, seconds: 15, answer: STATUS.backend },
  { action: 'box_status', call: (c) => c.status(CONTEXT), data: {}, isTenant: true, seconds: 15, answer: STATUS },
  { action: 'box_shutdown', call: (c) => c.shutdown(), data: {}, isTenant: false, seconds: 15, answer: {} },
  {
    ...{ action: 'box_verify_shared_workspace', call: (c) => c.verifySharedWorkspace('.m'), data: { marker_name: '.m' }, isTenant: false },
    ...{ seconds: 15, answer: { marker_name: '.m', sha256: 'ab', size: 3 } },
  },
  {
    ...{ action: 'box_get_session', call: (c) => c.getSession(CONTEXT, 's1'), data: { session_id: 's1' }, isTenant: true, seconds: 15 },
    answer: { ...SESSION, managed_processes: { p2: PROCESS } },
  },
  {
    ...{ action: 'box_get_sessions', call: (c) => c.getSessions(CONTEXT), data: {}, isTenant: true, seconds: 15 },
    ...{ answer: { sessions: [SESSION] }, gives: [SESSION] },
  },
  {
    ...{
      action: 'box_delete_session',
      call: (c) => c.deleteSession(CONTEXT, 's1'),
      data: { session_id: 's1' },
      isTenant: true,
      seconds: 30,
    },
    answer: { deleted: 's1' },
  },
  {
    ...{ action: 'box_start_managed_process', call: (c) => c.startProcess(CONTEXT, 's1', { command: 'sh', process_id: 'p2' }) },
    data: { session_id: 's1', spec: { process_id: 'p2', command: 'sh', args: [], env: {}, cwd: '/workspace', memory_mb: 0 } },
    ...{ isTenant: true, seconds: 30, answer: PROCESS },
  },
  {
    ...{ action: 'box_get_managed_process', call: (c) => c.getProcess(CONTEXT, 's1'), data: { session_id: 's1', process_id: 'default' } },
    ...{ isTenant: true, seconds: 15, answer: PROCESS },
  },
  {
    ...{
      action: 'box_stop_managed_process',
      call: (c) => c.stopProcess(CONTEXT, 's1', 'p2'),
      data: { session_id: 's1', process_id: 'p2' },
    },
    ...{ isTenant: true, seconds: 30, answer: { stopped: 'p2' } },
  },
  {
    ...{ action: 'box_list_skills', call: (c) => c.listSkills(CONTEXT), data: {}, isTenant: true, seconds: 15, answer: { skills: [] } },
    gives: [],
  },
  {
    ...{ action: 'box_get_skill', call: (c) => c.getSkill(CONTEXT, 'demo'), data: { name: 'demo' }, isTenant: true, seconds: 15 },
    ...{ answer: { skill: null }, gives: null },
  },
  {
    ...{ action: 'box_create_skill', call: (c) => c.createSkill(CONTEXT, { name: 'demo' }), data: { skill: { name: 'demo' } } },
    ...{ isTenant: true, seconds: 15, answer: { skill: SKILL }, gives: expect.objectContaining(SKILL) },
  },
  {
    ...{ action: 'box_update_skill', call: (c) => c.updateSkill(CONTEXT, 'demo', { description: 'd' }), isTenant: true, seconds: 15 },
    ...{ data: { name: 'demo', skill: { description: 'd' } }, answer: { skill: SKILL }, gives: expect.objectContaining(SKILL) },
  },
  {
    ...{ action: 'box_delete_skill', call: (c) => c.deleteSkill(CONTEXT, 'demo'), data: { name: 'demo' }, isTenant: true, seconds: 15 },
    answer: { deleted: 'demo' },
  },
  {
    ...{ action: 'box_scan_skill_directory', call: (c) => c.scanSkillDirectory(CONTEXT, '/x'), data: { path: '/x' }, isTenant: true },
    ...{ seconds: 15, answer: SKILL, gives: expect.objectContaining(SKILL) },
  },
  {
    ...{ action: 'box_list_skill_files', call: (c) => c.listSkillFiles(CONTEXT, 'demo'), isTenant: true, seconds: 15 },
    data: { name: 'demo', path: '.', include_hidden: false, max_entries: 200 },
    answer: { skill: { name: 'demo' }, base_path: '.', entries: [{ path: 'a', name: 'a', is_dir: true, size: null }], truncated: false },
  },
  {
    ...{ action: 'box_read_skill_file', call: (c) => c.readSkillFile(CONTEXT, 'demo', 'a'), data: { name: 'demo', path: 'a' } },
    ...{ isTenant: true, seconds: 15, answer: { skill: { name: 'demo' }, path: 'a', content: 'text' } },
  },
  {
    ...{ action: 'box_write_skill_file', call: (c) => c.writeSkillFile(CONTEXT, 'demo', 'a', 'text'), isTenant: true, seconds: 15 },
    ...{ data: { name: 'demo', path: 'a', content: 'text' }, answer: { skill: { name: 'demo' }, path: 'a', bytes_written: 4 } },
  },
  {
    ...{ action: 'box_upsert_sandbox_admission_grant', call: (c) => c.upsertGrant(GRANT), data: GRANT, isTenant: false, seconds: 15 },
    answer: { installed: true, ...GRANT },
    gives: expect.objectContaining({ installed: true, workspace_uuid: 'ws-A' }),
  },
  {
    ...{ action: 'box_revoke_sandbox_admission_grant', call: (c) => c.revokeGrant(GRANT), isTenant: false, seconds: 30 },
    data: { instance_uuid: 'inst-1', workspace_uuid: 'ws-A', entitlement_revision: 2 },
    answer: { revoked: true, workspace_uuid: 'ws-A', entitlement_revision: 2 },
  },
]

describe('every action', () => {
  test.each(CALLS)('$action', async ({ action, call, data, isTenant, seconds, answer, gives = answer }) => {
    const { client, asked } = stage(answer)
    await expect(call(client)).resolves.toEqual(gives)
    const options = { timeoutMs: seconds * 1000, ...(isTenant ? { context: CONTEXT } : {}) }
    expect(asked).toEqual([{ action, data, options }])
  })

  test('an answer of another shape fails the call, and says what is wrong', async () => {
    const wrong = { ...RESULT, duration_ms: 1.5 }
    await expect(stage(wrong).client.exec(CONTEXT, { session_id: 's1', cmd: 'true' })).rejects.toThrow(
      /malformed answer to box_exec: duration_ms/,
    )
    await expect(stage({ sessions: {} }).client.getSessions(CONTEXT)).rejects.toThrow('malformed answer to box_get_sessions: sessions')
  })
})

describe('a command', () => {
  test('goes out with all its fields, as the golden frame has them', async () => {
    const { client, asked } = stage(RESULT)
    await client.exec(CONTEXT, {
      session_id: 's1',
      cmd: 'echo hello; id -u; pwd',
      image: 'python:3.11-slim',
      host_path: '/srv/boxroot/default',
    })
    expect(asked).toEqual([
      {
        action: 'box_exec',
        data: {
          ...{ cmd: 'echo hello; id -u; pwd', workdir: '/workspace', timeout_sec: 30, network: 'off', session_id: 's1', env: {} },
          ...{ image: 'python:3.11-slim', host_path: '/srv/boxroot/default', host_path_mode: 'rw', mount_path: '/workspace' },
          ...{ extra_mounts: [], skill_name: null, persistent: false, cpus: 1, memory_mb: 512, pids_limit: 128 },
          ...{ read_only_rootfs: true, workspace_quota_mb: 0 },
        },
        options: { timeoutMs: 300_000, context: CONTEXT },
      },
    ])
  })

  test('is waited for longer than its own time, however long that is', async () => {
    const { client, asked } = stage(RESULT)
    for (const seconds of [1, 285, 300, 600]) await client.exec(CONTEXT, { session_id: 's1', cmd: 'true', timeout_sec: seconds })
    expect(asked.map(({ options }) => options.timeoutMs)).toEqual([300_000, 300_000, 315_000, 615_000])
  })

  test('names its era by `skill_name: null`, until a server refuses the field', async () => {
    const newer = (_action: string, data: object) => {
      if ('skill_name' in data) throw new BoxError('BoxValidationError', 'skill_name: Extra inputs are not permitted')
      return RESULT
    }
    const { client, asked } = stage(newer)
    for (let times = 0; times < 2; times += 1) await client.exec(CONTEXT, { session_id: 's1', cmd: 'true' })
    expect(asked.map(({ data }) => 'skill_name' in data)).toEqual([true, false, false])
    await expect(client.exec(CONTEXT, { session_id: 's1', cmd: 'true', skill_name: 'demo' })).rejects.toThrow('skill_name')
  })

  test('that no server takes is refused here, with the field', async () => {
    const { client, asked } = stage(RESULT)
    const call = client.exec(CONTEXT, { session_id: 's1', cmd: 'true', memory_mb: 8 })
    await expect(call).rejects.toMatchObject({ boxClass: 'BoxValidationError', message: 'memory_mb must be at least 32' })
    expect(asked).toEqual([])
  })
})

describe('an archive', () => {
  test('goes out in pieces of 16 KiB under one key, then the action names it', async () => {
    const zip = Buffer.alloc(40_000, 'z')
    const { client, asked } = stage((action: string) => (action === '__file_chunk' ? {} : { skills: [{ ...SKILL, source_path: 'one' }] }))
    await expect(client.previewSkillZip(CONTEXT, zip, { filename: 'my pack.zip' })).resolves.toMatchObject([{ source_path: 'one' }])
    const chunks = asked.filter(({ action }) => action === '__file_chunk')
    expect(chunks.map(({ options }) => options)).toEqual(Array.from({ length: 3 }, () => ({ timeoutMs: 15_000 })))
    const data = chunks.map((chunk) => chunk.data as Record<string, unknown>)
    expect(Buffer.concat(data.map(({ chunk_base64: text }) => Buffer.from(String(text), 'base64')))).toEqual(zip)
    const facts = data.map(({ chunk_base64: _text, ...rest }) => rest)
    const key = facts[0]?.['file_key']
    expect(key).toMatch(/^[0-9a-f]{16}-0b38fe81f0294eb0863ca40af9863efa\.zip$/)
    const base = { file_key: key, file_length: 40_000, chunk_amount: 3 }
    expect(facts).toEqual([
      { ...base, chunk_index: 0, chunk_size: 16_384 },
      { ...base, chunk_index: 1, chunk_size: 16_384 },
      { ...base, chunk_index: 2, chunk_size: 7232 },
    ])
    expect(asked.at(-1)).toEqual({
      action: 'box_preview_skill_zip',
      data: { file_key: key, filename: 'my pack.zip', source_subdir: '', target_suffix: 'upload' },
      options: { timeoutMs: 60_000, context: CONTEXT },
    })
  })

  test('that is empty is one empty piece, and an installation waits for two minutes', async () => {
    const { client, asked } = stage((action: string) => (action === '__file_chunk' ? {} : { skills: [] }))
    await client.installSkillZip(CONTEXT, new Uint8Array(0), { filename: 'a.zip', sourcePaths: ['one'] })
    expect(asked[0]?.data).toMatchObject({ file_length: 0, chunk_base64: '', chunk_index: 0, chunk_amount: 1, chunk_size: 0 })
    expect(asked[1]).toMatchObject({ data: { source_paths: ['one'], source_path: '' }, options: { timeoutMs: 120_000, context: CONTEXT } })
    expect(asked).toHaveLength(2)
  })
})
