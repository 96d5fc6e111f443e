/** Profiles, pipelines and host directories over REST, on real guests without a sandbox. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ExecResult, SessionRecord } from '@holdfast/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openLaboratory } from './contract/laboratory.ts'
import type { Laboratory } from './contract/laboratory.ts'

const FILE = `
profiles:
  quick:
    timeout_seconds: 1
    max_timeout_seconds: 2
    locked: [network]
pipelines:
  support: { scope: '{sender_id}', profile: quick, skills: [pdf] }
  bare: {}
`
let laboratory: Laboratory
let directory: string
let ada: string
beforeAll(async () => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-profiles-')))
  writeFileSync(join(directory, 'holdfast.yaml'), FILE)
  mkdirSync(join(directory, 'roots'))
  laboratory = await openLaboratory({
    HOLDFAST_CONFIG: join(directory, 'holdfast.yaml'),
    HOLDFAST_MOUNTS_ALLOWED_ROOTS: join(directory, 'roots', '{tenant}'),
  })
  ada = await laboratory.keyOf({ subject: 'ada' })
})
afterAll(async () => {
  await laboratory.close()
  rmSync(directory, { recursive: true, force: true })
})

const exec = (body: object) => laboratory.post('/v1/exec', { cwd: '/', ...body }, { key: ada })
const create = (body: object) => laboratory.post('/v1/sessions', body, { key: ada })
const timesOf = async (sessionId: string) =>
  (await laboratory.store.read((sql) => sql.all('SELECT timeout_ms FROM executions WHERE session_id = ?', sessionId))).map(
    (row) => row['timeout_ms'],
  )
const sessionOf = ({ body }: Awaited<ReturnType<typeof exec>>) => ExecResult.parse(body).session.id

describe('profiles', () => {
  test('are listed, the built-in ones first, with what can be used', async () => {
    const { body } = await laboratory.send('/v1/profiles', { key: ada })
    expect(body).toMatchObject({ default: null })
    expect(body['items']).toMatchObject([
      { name: 'default', built_in: true, usable: true, reason: null, limits: { memory_bytes: 512 * 2 ** 20 }, max_timeout_ms: 120_000 },
      { name: 'offline_readonly', workspace_mode: 'ro', home: 'ephemeral', locked: ['network', 'workspace.mode', 'rootfs', 'home'] },
      { name: 'network_basic', network: 'on' },
      { name: 'network_extended', rootfs: 'writable' },
      { name: 'quick', built_in: false, timeout_ms: 1000, max_timeout_ms: 2000, locked: ['network'] },
    ])
  })

  test('fill what is left out, and the session says so', async () => {
    const record = SessionRecord.parse((await create({ key: 'filled', profile: 'network_extended', limits: { pids: 99 } })).body)
    expect(record).toMatchObject({
      ...{ profile: 'network_extended', pipeline: null, network: 'on', rootfs: 'writable', home: 'persistent', mounts: [] },
      workspace_mount: { source: null, mode: 'rw', target: '/workspace' },
      limits: { cpus: 2, memory_bytes: 2 ** 30, pids: 99, workspace_bytes: 10 * 2 ** 30 },
    })
  })

  test('are not there unless somebody names one', async () => {
    const record = SessionRecord.parse((await create({ key: 'plain' })).body)
    expect(record).toMatchObject({ profile: null, network: 'off', rootfs: 'read-only', limits: { cpus: 1, pids: 128 } })
    const ran = await exec({ session: 'plain', command: 'true', timeout_ms: 3_000_000 })
    expect(await timesOf(sessionOf(ran))).toEqual([3_000_000])
  })

  test('keep a locked field, and nothing is made', async () => {
    const refusal = { status: 403, body: { code: 'profile_locked', details: { profile: 'offline_readonly', fields: ['network'] } } }
    expect(await create({ key: 'locked', profile: 'offline_readonly', network: 'on' })).toMatchObject(refusal)
    expect(await exec({ session: 'locked', command: 'true', profile: 'offline_readonly', network: 'on' })).toMatchObject(refusal)
    const { body } = await laboratory.send('/v1/sessions?key=locked', { key: ada })
    expect(body['items']).toEqual([])
  })

  test('that are not there are refused with those that are', async () => {
    const answer = await create({ key: 'unknown', profile: 'fast' })
    expect(answer).toMatchObject({ status: 400, body: { code: 'profile_unknown' } })
    expect(answer.text).toContain('read-only ones are default, offline_readonly, network_basic, network_extended, quick')
  })

  test('of an open session are compared', async () => {
    await create({ key: 'compared', profile: 'default' })
    expect(await create({ key: 'compared', profile: 'default' })).toMatchObject({ status: 200 })
    expect(await create({ key: 'compared' })).toMatchObject({ status: 200 })
    expect(await create({ key: 'compared', profile: 'quick' })).toMatchObject({ status: 409, body: { details: { fields: ['profile'] } } })
  })

  test('say how long a command has, and clamp what is asked for', async () => {
    await create({ key: 'timed', profile: 'quick' })
    await exec({ session: 'timed', command: 'true' })
    await exec({ session: 'timed', command: 'true', timeout_ms: 500 })
    const answer = await exec({ session: 'timed', command: 'true', timeout_ms: 60_000 })
    expect(new Set(await timesOf(sessionOf(answer)))).toEqual(new Set([1000, 500, 2000]))
    const stopped = await exec({ session: 'timed', command: 'sleep 60' })
    expect(stopped.body).toMatchObject({ status: 'timed_out' })
  })

  test('leave named processes alone', async () => {
    const { body } = await create({ key: 'served', profile: 'quick', wait_ms: 10_000 })
    const started = await laboratory.post(
      `/v1/sessions/${String(body['id'])}/processes`,
      { name: 'web', command: 'sleep 60', cwd: '/' },
      { key: ada },
    )
    expect(started.status).toBe(201)
    expect(await timesOf(String(body['id']))).toEqual([null])
    await laboratory.post(`/v1/sessions/${String(body['id'])}/release`, { if_busy: 'kill' }, { key: ada })
  })
})

describe('pipelines', () => {
  test('are listed with what they come to', async () => {
    const { body } = await laboratory.send('/v1/pipelines', { key: ada })
    const facts = { source: 'configuration', read_only: true, version: null, created_at: null, updated_at: null }
    expect(body).toEqual({
      forced_scope: null,
      items: [
        { name: 'support', ...facts, scope: '{sender_id}', profile: 'quick', skills: ['pdf'] },
        { name: 'bare', ...facts, scope: 'chat', profile: null, skills: [] },
      ],
      next_page_token: null,
    })
  })

  test('give a session its scope and its profile, and it remembers them', async () => {
    const made = await create({ pipeline: 'support', variables: { sender_id: 'ana' } })
    expect(made).toMatchObject({ status: 201, body: { key: 'ana', scope: '{sender_id}', pipeline: 'support', profile: 'quick' } })
    expect(await create({ pipeline: 'support', profile: 'default', variables: { sender_id: 'ben' } })).toMatchObject({
      body: { key: 'ben', pipeline: 'support', profile: 'default' },
    })
  })

  test('that meet in one conversation share its session', async () => {
    const variables = { launcher_type: 'group', launcher_id: 7 }
    const made = await create({ pipeline: 'bare', variables })
    expect(made).toMatchObject({ status: 201, body: { key: 'group_7', pipeline: 'bare', profile: null } })
    expect(await create({ scope: 'chat', variables, pipeline: 'support' })).toMatchObject({ status: 200, body: { id: made.body['id'] } })
  })

  test('that are not configured are refused', async () => {
    expect(await create({ pipeline: 'sales' })).toMatchObject({ status: 400, body: { code: 'pipeline_unknown' } })
  })
})

describe('host directories', () => {
  test('below the tenant’s allowed root are recorded, and compared', async () => {
    const root = join(directory, 'roots', laboratory.admin.tenantId)
    mkdirSync(root)
    const workspace = { source: root, mode: 'ro' }
    const mounts = [{ source: root, target: '/mnt/data', mode: 'ro' }]
    const made = await create({ key: 'shown', workspace, mounts, limits: { workspace_bytes: 2 ** 20 } })
    expect(made).toMatchObject({
      status: 201,
      body: { workspace_mount: { source: root, mode: 'ro', target: '/workspace' }, mounts, limits: { workspace_bytes: 2 ** 20 } },
    })
    expect(await create({ key: 'shown', workspace, mounts })).toMatchObject({ status: 200 })
    expect(await create({ key: 'shown', mounts: [] })).toMatchObject({ status: 409, body: { details: { fields: ['mounts'] } } })
  })

  test.each(['/', '/etc', '/usr/share'])('%s is refused, as the workspace and as any other mount, and nothing is made', async (source) => {
    expect(await create({ key: 'refused', workspace: { source } })).toMatchObject({ status: 400, body: { code: 'mount_refused' } })
    expect(await create({ key: 'refused', mounts: [{ source, target: '/mnt/x', mode: 'ro' }] })).toMatchObject({
      ...{ status: 400, body: { code: 'mount_refused' } },
    })
    const { body } = await laboratory.send('/v1/sessions?key=refused', { key: ada })
    expect(body['items']).toEqual([])
  })
})
