/**
 * Every action of the Box protocol, walked by LangBot's own client: the same over each transport and on each backend.
 */
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { writeZip } from '../../packages/server/src/skills/contract/zip-writer.ts'
import { eventually } from '../servers/eventually.ts'
import { CONTEXT } from './langbot-driver.ts'
import type { Context, LangBotClient, LangBotDriver } from './langbot-driver.ts'

export interface Stage {
  readonly driver: LangBotDriver
  readonly client: LangBotClient
  /** The server's `box.host_root`. */
  readonly root: string
  readonly backend: string
}

const OTHER: Context = { ...CONTEXT, workspace_uuid: 'ws-B' }
const MULTIBYTE = '\u2028界\u{1F600}"\\'

/** `hasSkills`: whether the client knows of them; releases after 0.5 do not. */
export function walkEveryAction(stage: () => Stage, { hasSkills }: { readonly hasSkills: boolean }): void {
  const client = () => stage().client

  describe('control', () => {
    test('ping, health, backend, status and configuration', async () => {
      await stage().driver.order('ping', { client: 'one' })
      const { root } = stage()
      const local = { profile: 'default', host_root: root, allowed_mount_roots: [root] }
      await client().call('init', { config: { backend: 'local', local } }, null)
      await client().call('initialize', {}, null)
      expect(await client().call('get_backend_info', {}, null)).toEqual({ name: stage().backend, available: true })
      expect(await client().call('get_status')).toMatchObject({
        backend: { name: stage().backend, available: true },
        session_ttl_sec: 300,
        limits: { max_sessions: 64, max_rpc_file_bytes: 20_971_520 },
      })
    })

    test('a marker shows that both see one workspace, and its absence is a BoxReadinessError', async () => {
      const marker = `.langbot-box-volume-probe-${randomBytes(16).toString('hex')}`
      expect(await client().failure('verify_shared_workspace', { marker_name: marker }, null)).toBe('BoxReadinessError')
      mkdirSync(join(stage().root, 'default'), { recursive: true })
      writeFileSync(join(stage().root, 'default', marker), 'here')
      const sha256 = createHash('sha256').update('here').digest('hex')
      expect(await client().call('verify_shared_workspace', { marker_name: marker }, null)).toEqual({
        ...{ marker_name: marker, sha256, size: 4 },
      })
    })

    test('grants are a BoxAdmissionError where none are needed', async () => {
      const whose = { instance_uuid: CONTEXT.instance_uuid, workspace_uuid: CONTEXT.workspace_uuid, entitlement_revision: 1 }
      const grant = { ...whose, execution_generation: 1, expires_at: new Date(Date.now() + 60_000).toISOString(), max_sessions: 1 }
      const given = { grant: { ...grant, max_managed_processes: 0 } }
      expect(await client().failure('upsert_sandbox_admission_grant', given, null)).toBe('BoxAdmissionError')
      expect(await client().failure('revoke_sandbox_admission_grant', { revocation: whose }, null)).toBe('BoxAdmissionError')
    })
  })

  describe('commands', () => {
    test('a result has both streams, the code and the backend', async () => {
      const spec = { env: { WHO: 'me' }, workdir: '/workspace/deep/er' }
      expect(await client().exec('grp/1:x', 'pwd; echo "$WHO"; echo no >&2; exit 3', spec)).toMatchObject({
        ...{ session_id: 'grp-1-x', backend_name: stage().backend, status: 'completed', exit_code: 3 },
        ...{ stdout: '/workspace/deep/er\nme', stderr: 'no' },
      })
    })

    test('one that takes too long is a result, and its session lives on', async () => {
      await client().exec('slow', 'echo kept > note')
      expect(await client().exec('slow', 'echo partial; sleep 60', { timeout_sec: 1 })).toMatchObject({
        ...{ status: 'timed_out', exit_code: null, stdout: 'partial' },
      })
      expect(await client().exec('slow', 'cat note')).toMatchObject({ exit_code: 0, stdout: 'kept' })
    })

    test('long commands and long output of many bytes a character come whole, many at once', async () => {
      const text = MULTIBYTE.repeat(20_000)
      const answers = await Promise.all(['a', 'b', 'c'].map(async (name) => client().exec('long', `cat <<'END'\n${name}${text}\nEND`)))
      expect(answers.every(({ stdout }, index) => stdout === `${'abc'[index]}${text}`)).toBe(true)
    })
  })

  describe('sessions', () => {
    test('are made, told of, listed and deleted', async () => {
      const spec = { session_id: 'made', memory_mb: 256, persistent: true }
      const info = await client().call('create_session', { spec })
      expect(info).toMatchObject({ ...spec, backend_name: stage().backend, network: 'off', host_path: null, read_only_rootfs: true })
      expect(await client().call('get_session', { session_id: 'made' })).toMatchObject({ ...spec, created_at: info['created_at'] })
      expect(await client().call<unknown[]>('get_sessions')).toContainEqual(expect.objectContaining(spec))
      expect(await client().call('get_sessions', {}, OTHER)).toEqual([])
      await client().call('delete_session', { session_id: 'made' })
      expect(await client().failure('get_session', { session_id: 'made' })).toBe('BoxSessionNotFoundError')
    })

    test('what goes wrong is raised as its own class', async () => {
      await client().exec('wrong', 'true')
      expect(await client().failure('execute', { spec: { session_id: 'wrong', cmd: '' } })).toBe('BoxValidationError')
      const otherwise = { session_id: 'wrong', cmd: 'true', memory_mb: 64 }
      expect(await client().failure('execute', { spec: otherwise })).toBe('BoxSessionConflictError')
      expect(await client().failure('delete_session', { session_id: 'nobody' })).toBe('BoxSessionNotFoundError')
      expect(await client().failure('get_managed_process', { session_id: 'wrong' })).toBe('BoxManagedProcessNotFoundError')
      expect(await client().failure('stop_managed_process', { session_id: 'wrong' })).toBe('BoxManagedProcessNotFoundError')
      expect(await client().failure('get_status', {}, null)).toBe('BoxError')
      expect(await client().failure('get_status', {}, { ...CONTEXT, instance_uuid: 'inst-2' })).toBe('BoxError')
    })

    test('a full server is a BoxCapacityExceededError', async () => {
      await client().call('init', { config: { limits: { max_sessions: 0, max_managed_processes: 0 } } }, null)
      await client().exec('wrong', 'true')
      expect(await client().failure('execute', { spec: { session_id: 'too-many', cmd: 'true' } })).toBe('BoxCapacityExceededError')
      const process = { session_id: 'wrong', spec: { command: 'cat' } }
      expect(await client().failure('start_managed_process', process)).toBe('BoxCapacityExceededError')
      await client().call('init', { config: { limits: { max_sessions: 64, max_managed_processes: 64 } } }, null)
    })
  })

  describe('managed processes', () => {
    test('run, are told of, replaced and stopped', async () => {
      await client().call('create_session', { spec: { session_id: 'mcp-shared', persistent: true } })
      const first = await client().launch('mcp-shared', 'p1', 'echo $$ > pid; exec sleep 600')
      expect(first).toMatchObject({ session_id: 'mcp-shared', process_id: 'p1', status: 'running', command: 'sh', exit_code: null })
      expect(await client().look('mcp-shared', 'p1')).toMatchObject({ status: 'running', started_at: first.started_at })
      const inSession = { persistent: true }
      await eventually(() => client().exec('mcp-shared', 'test -s pid', inSession)).toMatchObject({ exit_code: 0 })
      const again = await client().launch('mcp-shared', 'p1', 'echo oops >&2; exit 7')
      expect(again.status).toBe('running')
      await eventually(() => client().look('mcp-shared', 'p1')).toMatchObject({ status: 'exited', exit_code: 7, stderr_preview: 'oops' })
      expect(await client().exec('mcp-shared', 'kill -0 $(cat pid)', inSession)).toMatchObject({ exit_code: 1 })
      await client().launch('mcp-shared', 'p2', 'sleep 600')
      await client().call('stop_managed_process', { session_id: 'mcp-shared', process_id: 'p2' })
      expect(await client().failure('get_managed_process', { session_id: 'mcp-shared', process_id: 'p2' })).toBe(
        'BoxManagedProcessNotFoundError',
      )
    })

    test('speak over their relay, one line a message', async () => {
      const { driver } = stage()
      await client().exec('relay', 'true')
      await client().launch('relay', 'p', 'while read -r line; do printf "%s\\n%s\\n" "$line" "$line"; done')
      expect(await client().attach('r', 'relay', 'p')).toBe('mcp')
      const long = MULTIBYTE.replaceAll('\u2028', '').repeat(25_000)
      for (const text of ['{"a":1}', long]) {
        await driver.order('send', { relay: 'r', text })
        expect((await driver.order('receive', { relay: 'r' })) === `${text}\n`).toBe(true)
        expect((await driver.order('receive', { relay: 'r' })) === `${text}\n`).toBe(true)
      }
      expect(await client().look('relay', 'p')).toMatchObject({ attached: true })
      await driver.order('detach', { relay: 'r' })
      expect(await client().attach('again', 'relay', 'p')).toBe('mcp')
      await driver.order('send', { relay: 'again', text: 'still here' })
      expect(await driver.order('receive', { relay: 'again' })).toBe('still here\n')
      await client().call('delete_session', { session_id: 'relay' })
      expect(await driver.order('until_closed', { relay: 'again' })).toBe(1000)
      await expect(client().attach('gone', 'relay', 'p')).rejects.toThrow(/HTTP 400/)
    })
  })

  describe.runIf(hasSkills)('skills', () => {
    test('are written, read, changed, found and removed', async () => {
      const made = await client().call('create_skill', { skill: { name: 'demo', description: 'd', instructions: 'Do it.' } })
      expect(made).toMatchObject({ name: 'demo', display_name: 'demo', entry_file: 'SKILL.md', python_project: false })
      expect(await client().call('get_skill', { name: 'nobody' })).toBeNull()
      expect(await client().call('update_skill', { name: 'demo', skill: { description: 'better' } })).toMatchObject({
        ...{ description: 'better', instructions: 'Do it.' },
      })
      const content = `echo ${MULTIBYTE}\n`.repeat(5_000)
      await client().call('write_skill_file', { name: 'demo', path: 'bin/run.sh', content })
      expect(await client().call('read_skill_file', { name: 'demo', path: 'bin/run.sh' })).toMatchObject({ content })
      const { entries } = await client().call<{ entries: unknown[] }>('list_skill_files', { name: 'demo' })
      expect(entries).toContainEqual(expect.objectContaining({ path: 'bin', is_dir: true, size: null }))
      expect(entries).toContainEqual(expect.objectContaining({ path: 'SKILL.md', is_dir: false }))
      expect(await client().call('scan_skill_directory', { path: made['package_root'] })).toMatchObject({ name: 'demo' })
      expect(await client().call('list_skills')).toMatchObject([{ name: 'demo' }])
      expect(await client().call('list_skills', {}, OTHER)).toEqual([])
      await client().call('delete_skill', { name: 'demo' })
      expect(await client().failure('read_skill_file', { name: 'demo', path: 'SKILL.md' })).toBe('BoxValidationError')
    })

    test('come in archives of many chunks, looked at first', async () => {
      const noise = randomBytes(300_000).toString('base64')
      const skill = (name: string) => ({ name: `${name}/SKILL.md`, content: `---\nname: ${name}\n---\n\nDo it.` })
      const archive = writeZip([skill('one'), skill('two'), { name: 'one/noise.txt', content: noise }])
      const sent = { file_bytes: archive.toString('base64'), filename: 'my pack.zip' }
      const found = await client().call<{ source_path: string }[]>('preview_skill_zip', sent)
      expect(found.map(({ source_path }) => source_path).toSorted()).toEqual(['one', 'two'])
      expect(await client().failure('install_skill_zip', sent)).toBe('BoxValidationError')
      const installed = await client().call<{ package_root: string }[]>('install_skill_zip', { ...sent, source_paths: ['one'] })
      expect(installed).toMatchObject([{ name: 'one', package_root: expect.stringMatching(/\/my-pack-one-upload$/) }])
      expect(await client().call('read_skill_file', { name: 'one', path: 'noise.txt' })).toMatchObject({ content: noise })
      await client().call('delete_skill', { name: 'one' })
    })
  })

  test.skipIf(hasSkills)('the newest client reads capacity, the status of sessions and the storage of its workspace', async () => {
    await client().exec('measured', 'echo 12345 > file')
    expect(await client().call('get_status')).toMatchObject({ capacity: { limit: 64 } })
    expect(await client().call<unknown[]>('get_sessions')).toContainEqual(
      expect.objectContaining({ session_id: 'measured', status: 'idle' }),
    )
    const { directories } = await client().call<{ directories: { key: string; size_bytes: number }[] }>('get_storage_analysis')
    expect(directories.find(({ key }) => key === 'session_workspaces')?.size_bytes).toBeGreaterThanOrEqual(6)
    await client().call('delete_session', { session_id: 'measured' })
  })

  test('the newest generation alone is served', async () => {
    const inC: Context = { ...CONTEXT, workspace_uuid: 'ws-C' }
    await client().call('create_session', { spec: { session_id: 'old' } }, inC)
    const next = { ...inC, placement_generation: 2 }
    expect(await client().call('get_sessions', {}, next)).toEqual([])
    expect(await client().failure('get_session', { session_id: 'old' }, inC)).toBe('BoxError')
  })

  test('a shutdown ends every session of every workspace, and the server serves on', async () => {
    await client().exec('last', 'true')
    await stage().driver.order('shutdown', { client: 'one' })
    expect(await client().call('get_sessions')).toEqual([])
    expect(await client().exec('last', 'echo again')).toMatchObject({ stdout: 'again' })
  })
}
