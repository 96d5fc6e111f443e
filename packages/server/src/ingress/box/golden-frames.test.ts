/** Frames as they were seen between the published client and its own server, here answered by this door, in the same shape. */
import { strToU8, zipSync } from 'fflate'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BOX_ACTIONS, HOST_ACTIONS } from '@holdfast/protocol/box'
import { CONTEXT, openBoxLaboratory } from './contract/box-laboratory.ts'
import type { BoxLaboratory } from './contract/box-laboratory.ts'
import type { BoxTestClient, Frame } from './contract/box-client.ts'
import { PROCESS, RESULT, SESSION, STATUS } from './contract/scripted-runtime.ts'

let laboratory: BoxLaboratory
let client: BoxTestClient
beforeAll(async () => {
  laboratory = await openBoxLaboratory()
  client = await laboratory.dial()
})
afterAll(async () => laboratory.close())

const SPEC = {
  ...{
    cmd: 'echo hello; id -u; pwd',
    workdir: '/workspace',
    timeout_sec: 30,
    network: 'off',
    session_id: 's1',
    env: {},
    image: 'python:3.11-slim',
  },
  ...{
    host_path: '/srv/boxroot/default',
    host_path_mode: 'rw',
    mount_path: '/workspace',
    extra_mounts: [],
    skill_name: null,
    persistent: false,
  },
  ...{ cpus: 1.0, memory_mb: 512, pids_limit: 128, read_only_rootfs: true, workspace_quota_mb: 0 },
}
const success = (data: unknown): unknown => ({
  seq_id: expect.any(Number) as number,
  code: 0,
  message: 'success',
  data,
  chunk_status: 'continue',
})
const failed = (message: string): unknown => ({
  seq_id: expect.any(Number) as number,
  code: 1,
  message: expect.stringContaining(message) as string,
  data: {},
  chunk_status: 'continue',
})
const ask = async (action: string, data: object = {}, context: object | undefined = CONTEXT): Promise<Frame> =>
  client.ask(action, data, context)
const askHost = async (action: string, data: object = {}): Promise<Frame> => client.ask(action, data)

describe('byte by byte', () => {
  test('a ping', async () => {
    const answer = await client.askText(1, { seq_id: 1, action: '__ping', data: {} })
    expect(answer).toBe('{"seq_id":1,"code":0,"message":"success","data":{},"chunk_status":"continue"}')
  })

  test('a command', async () => {
    const answer = await client.askText(68_036, { seq_id: 68_036, action: 'box_exec', data: SPEC, context: CONTEXT })
    expect(answer).toBe(
      '{"seq_id":68036,"code":0,"message":"success","data":{"session_id":"s1","backend_name":"docker","status":"completed","exit_code":0,' +
        '"stdout":"hello\\n0\\n/workspace","stderr":"","duration_ms":98},"chunk_status":"continue"}',
    )
    expect(laboratory.runtime.asked.findLast(({ method }) => method === 'exec')?.about).toEqual(SPEC)
  })

  test('a number that was text stays text, and one that was not there is -1', async () => {
    expect(await client.askText('77', { seq_id: '77', action: '__ping', data: {} })).toContain('{"seq_id":"77","code":0')
    const answer = await client.askText(-1, { action: '__ping', data: {} })
    expect(JSON.parse(answer)).toMatchObject({ seq_id: -1, code: 1, message: expect.stringMatching(/^ValidationError: seq_id/) as string })
  })
})

describe('every action', () => {
  test('of the host is answered without a context', async () => {
    const info = { name: 'docker', available: true }
    expect(await askHost('box_health')).toEqual(success(info))
    expect(await askHost('box_get_backend_info')).toEqual(success(info))
    expect(await askHost('box_init', { backend: 'local', unknown: [1] })).toEqual(success({ initialized: true }))
    expect(laboratory.runtime.asked).toContainEqual({ method: 'init', workspace: null, about: { backend: 'local', unknown: [1] } })
    expect(await askHost('box_shutdown')).toEqual(success({}))
    const marker = `.langbot-box-volume-probe-${'0'.repeat(32)}`
    expect(await askHost('box_verify_shared_workspace', { marker_name: marker })).toEqual(
      success({ marker_name: marker, sha256: 'ab', size: 2 }),
    )
  })

  test('on sessions and processes is answered in the shape of its model', async () => {
    expect(await ask('box_status')).toEqual(success(STATUS))
    expect(await ask('box_exec', SPEC)).toEqual(success(RESULT))
    expect(await ask('box_create_session', { ...SPEC, cmd: '' })).toEqual(success(SESSION))
    expect(await ask('box_get_session', { session_id: 's1' })).toEqual(success({ ...SESSION, managed_processes: { p2: PROCESS } }))
    expect(await ask('box_get_sessions')).toEqual(success({ sessions: [SESSION] }))
    expect(await ask('box_delete_session', { session_id: 's1' })).toEqual(success({ deleted: 's1' }))
    const spec = { process_id: 'p2', command: 'sh', args: ['-c', 'x'], env: {}, cwd: '/workspace', memory_mb: 0 }
    expect(await ask('box_start_managed_process', { session_id: 's1', spec })).toEqual(success(PROCESS))
    expect(await ask('box_get_managed_process', { session_id: 's1' })).toEqual(success({ ...PROCESS, process_id: 'default' }))
    expect(await ask('box_stop_managed_process', { session_id: 's1', process_id: 'p2' })).toEqual(success({ stopped: 'p2' }))
  })

  test('on skills is answered in the shape of its model', async () => {
    const skill = {
      ...{
        name: 'demo',
        display_name: 'Demo',
        description: 'd',
        instructions: '# hi\nbody',
        entry_file: 'SKILL.md',
        python_project: false,
      },
      package_root: expect.stringMatching(/\/skills\/demo$/) as string,
      created_at: expect.stringMatching(/^\d{4}-.*\.\d{6}\+00:00$/) as string,
      updated_at: expect.stringMatching(/^\d{4}-.*\.\d{6}\+00:00$/) as string,
    }
    const wish = { name: 'demo', display_name: 'Demo', description: 'd', instructions: '# hi\nbody' }
    expect(await ask('box_create_skill', { skill: wish })).toEqual(success({ skill }))
    expect(await ask('box_list_skills')).toEqual(success({ skills: [skill] }))
    expect(await ask('box_get_skill', { name: 'demo' })).toEqual(success({ skill }))
    expect(await ask('box_get_skill', { name: 'none' })).toEqual(success({ skill: null }))
    expect(await ask('box_update_skill', { name: 'demo', skill: { description: 'other' } })).toEqual(
      success({ skill: { ...skill, description: 'other' } }),
    )
    expect(await ask('box_write_skill_file', { name: 'demo', path: 'a/b.txt', content: 'é' })).toEqual(
      success({ skill: { name: 'demo' }, path: 'a/b.txt', bytes_written: 2 }),
    )
    expect(await ask('box_read_skill_file', { name: 'demo', path: 'a/b.txt' })).toEqual(
      success({ skill: { name: 'demo' }, path: 'a/b.txt', content: 'é' }),
    )
    expect(await ask('box_list_skill_files', { name: 'demo', path: '.', include_hidden: false, max_entries: 200 })).toEqual(
      success({
        skill: { name: 'demo' },
        base_path: '.',
        entries: [
          { path: 'SKILL.md', name: 'SKILL.md', is_dir: false, size: expect.any(Number) as number },
          { path: 'a', name: 'a', is_dir: true, size: null },
        ],
        truncated: false,
      }),
    )
    const root = `${laboratory.directory}/skills/demo`
    expect(await ask('box_scan_skill_directory', { path: root })).toEqual(success({ ...skill, description: 'other' }))
    expect(await ask('box_delete_skill', { name: 'demo' })).toEqual(success({ deleted: 'demo' }))
  })

  test('on archives takes the file that was sent before it, once', async () => {
    const archive = zipSync({
      'pack/one/SKILL.md': strToU8('---\nname: one\n---\n\nfirst'),
      'pack/two/SKILL.md': strToU8('---\nname: two\n---\nsecond'),
    })
    const send = async (key: string) => {
      const piece = { file_key: key, file_length: archive.length, chunk_base64: Buffer.from(archive).toString('base64') }
      expect(await askHost('__file_chunk', { ...piece, chunk_index: 0, chunk_amount: 1, chunk_size: archive.length })).toEqual(success({}))
    }
    const wish = { filename: 'my pack.zip', source_subdir: '', target_suffix: 'upload' }
    await send('a.zip')
    const { data } = await ask('box_preview_skill_zip', { ...wish, file_key: 'a.zip' })
    expect(data).toMatchObject({
      skills: [
        { name: 'one', source_path: 'one', instructions: 'first' },
        { name: 'two', source_path: 'two' },
      ],
    })
    expect(await ask('box_preview_skill_zip', { ...wish, file_key: 'a.zip' })).toEqual(failed('BoxValidationError: file_key'))
    await send('b.zip')
    const installed = await ask('box_install_skill_zip', { ...wish, file_key: 'b.zip', source_paths: [], source_path: 'one' })
    expect(installed['data']).toMatchObject({
      skills: [{ name: 'one', package_root: expect.stringMatching(/my-pack-one-upload$/) as string }],
    })
    await send('c.zip')
    expect(await ask('box_install_skill_zip', { ...wish, file_key: 'c.zip', source_paths: [] })).toEqual(failed('BoxValidationError: '))
    expect(await ask('box_delete_skill', { name: 'one' })).toEqual(success({ deleted: 'one' }))
  })

  test('is in the table, and only those of the host are served without a context', async () => {
    for (const action of BOX_ACTIONS) {
      const { message } = await askHost(action)
      expect(`${action}: ${String(message)}`).not.toContain('is not an action')
      // Commands are the exception where one workspace is known.
      const isRefused = String(message).startsWith('PermissionError: this action needs a context')
      expect([action, isRefused]).toEqual([action, !HOST_ACTIONS.has(action) && action !== 'box_exec'])
    }
  })

  test('about grants is answered as by a server that needs none', async () => {
    expect(await askHost('box_upsert_sandbox_admission_grant', { workspace_uuid: 'w' })).toEqual(failed('BoxAdmissionError: '))
    expect(await askHost('box_revoke_sandbox_admission_grant')).toEqual(failed('BoxAdmissionError: '))
  })
})

describe('failures', () => {
  test.each([
    ['ValueError: "box_fly" is not an action', 'box_fly', {}],
    ['BoxValidationError: cmd: must not be empty', 'box_exec', { session_id: 's1' }],
    ['BoxValidationError: memory_mb: must be at least 32', 'box_exec', { ...SPEC, memory_mb: 1 }],
    ['BoxValidationError: session_id: ', 'box_create_session', {}],
    ['ValueError: session_id: ', 'box_create_session', { session_id: '///' }],
    ['ValueError: session_id: ', 'box_get_session', { session_id: '漢' }],
    ['KeyError: data has no session_id', 'box_get_session', {}],
    ['KeyError: data has no session_id', 'box_start_managed_process', { spec: { command: 'sh' } }],
    ['KeyError: data has no spec', 'box_start_managed_process', { session_id: 's1' }],
    ['BoxValidationError: command: ', 'box_start_managed_process', { session_id: 's1', spec: {} }],
    ['BoxSessionNotFoundError: there is no session missing', 'box_delete_session', { session_id: 'missing' }],
    ['KeyError: data has no name', 'box_get_skill', {}],
    ['BoxValidationError: skill: ', 'box_create_skill', {}],
    ['BoxValidationError: there is no skill', 'box_update_skill', { name: 'none', skill: {} }],
    ['BoxValidationError: there is no skill', 'box_delete_skill', { name: 'none' }],
    ['BoxValidationError: ', 'box_scan_skill_directory', { path: '/etc' }],
    ['BoxValidationError: ', 'box_read_skill_file', { name: 'none', path: '../x' }],
    ['BoxValidationError: file_key: ', 'box_preview_skill_zip', { file_key: 'none.zip' }],
    ['ValueError: limits.max_sessions ', 'box_init', { limits: { max_sessions: -1 } }],
    ['ValueError: limits must be', 'box_init', { limits: [] }],
    ['BoxReadinessError: marker_name', 'box_verify_shared_workspace', { marker_name: '../etc/passwd' }],
  ])('%s', async (message, action, data) => {
    expect(await ask(action, data)).toEqual(failed(message))
  })

  test('of a context are those of permission or of its shape', async () => {
    expect(await ask('box_status', {}, { ...CONTEXT, instance_uuid: 'other' })).toEqual(failed('PermissionError: context.instance_uuid'))
    expect(await ask('__ping', {}, { ...CONTEXT, instance_uuid: 'other' })).toEqual(failed('PermissionError: context.instance_uuid'))
    expect(await ask('box_status', {}, { ...CONTEXT, colour: 'red' })).toEqual(failed('ValidationError: context'))
    expect(await client.ask('box_status')).toEqual(failed('PermissionError: this action needs a context'))
  })

  test('of an envelope are told under its number', async () => {
    expect(JSON.parse(await client.askText(5, { seq_id: 5, action: 'box_exec', data: [] }))).toEqual(failed('ValidationError: data'))
    expect(JSON.parse(await client.askText(6, { seq_id: 6, action: 7, data: {} }))).toEqual(failed('ValidationError: action'))
    expect(JSON.parse(await client.askText(7, { seq_id: 7, action: '__ping' }))).toEqual(failed('ValidationError: data'))
  })

  test('quote no other class, no physical id and no directory of the server', async () => {
    const { message } = await ask('box_get_managed_process', { session_id: 'BoxAdmissionError: x', process_id: 5 })
    expect(message).not.toContain('BoxAdmissionError:')
    const missing = await ask('box_delete_session', { session_id: 'missing' })
    expect(missing['message']).not.toContain('ws-')
    const scanned = await ask('box_scan_skill_directory', { path: `${laboratory.directory}/elsewhere` })
    expect(scanned['message']).not.toContain(laboratory.directory)
  })
})
