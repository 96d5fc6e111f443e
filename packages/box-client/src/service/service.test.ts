/** A host with a Box uses it by its rules; a host without one works on and says why. */
import { BoxError } from '@holdfast/protocol/box'
import { describe, expect, test } from 'vitest'
import { boxStage, connectedStage } from '../contract/box-stage.ts'
import type { BoxStage } from '../contract/box-stage.ts'
import { CONTEXT, RESULT, SESSION, STATUS } from '../contract/script.ts'

const QUERY = { query_id: 42, launcher_type: 'group', launcher_id: 7 }
const OTHER = { ...CONTEXT, workspace_uuid: 'ws-B' }
const SKILL = { name: 'demo', package_root: '/skills/demo' }
const DEAD = { name: 'nsjail', available: false }
const DEAD_WORDS = 'Configured sandbox backend "nsjail" is unavailable'

/** Enabled, and nobody there. */
async function failedStage(): Promise<BoxStage> {
  const stage = boxStage()
  stage.server.refuse('connection refused')
  await stage.service.start()
  return stage
}

async function disabledStage(): Promise<BoxStage> {
  const stage = boxStage({ settings: { enabled: false } })
  await stage.service.start()
  return stage
}

const lastExec = ({ server }: BoxStage) => server.script.asked.findLast(({ action }) => action === 'box_exec')

describe('available', () => {
  test('is the connection and the backend together, and names the reason', async () => {
    const { server, service } = await connectedStage()
    expect(service).toMatchObject({ enabled: true, available: true, reason: null })
    server.script.on('box_get_backend_info', { data: DEAD })
    await expect(service.availability()).resolves.toEqual({ available: false, reason: DEAD_WORDS })
    expect(service).toMatchObject({ available: false, reason: DEAD_WORDS })
    server.script.on('box_get_backend_info', { data: { name: null, available: false } })
    await expect(service.availability()).resolves.toMatchObject({ reason: 'No supported sandbox backend is available' })
    await service.close()
    expect(service).toMatchObject({ available: false, reason: 'the connector was closed' })
  })

  test('is known when the service has started, asked once, and not known of the next connection before it was asked', async () => {
    const { server, clock, service } = boxStage()
    await service.start()
    expect(service.available).toBe(true)
    expect(server.script.actions()).toEqual(['__ping', 'box_get_backend_info'])
    server.script.on('box_get_backend_info', 'silence')
    server.drop('gone')
    await clock.armed(3000)
    clock.pass(3000)
    await server.script.question('box_get_backend_info', 2)
    expect(service).toMatchObject({ available: false, reason: 'the sandbox backend was not asked for yet' })
    await service.close()
  })

  test('hears of the backend with the connection and with every heartbeat, and a dead one costs no reconnection', async () => {
    const { server, clock, connector, service } = boxStage()
    expect(service).toMatchObject({ available: false, reason: 'the Box runtime was not started' })
    await service.start()
    await server.script.question('box_get_backend_info', 1)
    for (let nth = 2; nth <= 5; nth++) {
      server.script.on('box_get_backend_info', { data: nth % 2 === 0 ? DEAD : STATUS.backend })
      await clock.armed(20_000)
      clock.pass(20_000)
      await server.script.question('box_get_backend_info', nth)
    }
    expect({ state: connector.state, opened: server.opened }).toEqual({ state: 'connected', opened: 1 })
    await service.close()
  })
})

describe('get_status', () => {
  test('downgrades available when the backend is dead', async () => {
    const { server, connector, service } = await connectedStage()
    server.script.on('box_status', { data: { ...STATUS, backend: DEAD } })
    await expect(service.getStatus()).resolves.toEqual({
      ...{ ...STATUS, backend: DEAD, available: false, enabled: true, profile: 'default', recent_error_count: 0 },
      connector_error: DEAD_WORDS,
    })
    expect(connector.isConnected).toBe(true)
    await service.close()
  })

  test('keeps available true when the backend is well', async () => {
    const { service } = await connectedStage()
    await expect(service.getStatus()).resolves.toEqual({
      ...STATUS,
      available: true,
      enabled: true,
      profile: 'default',
      recent_error_count: 0,
    })
    await service.close()
  })

  test('during a disconnect is a status with the reason, not a failure', async () => {
    const { server, service } = await connectedStage()
    server.script.on('box_status', 'silence')
    const status = service.getStatus()
    await server.script.question('box_status')
    server.drop('the server was killed')
    const base = { available: false, enabled: true, profile: 'default', recent_error_count: 0 }
    await expect(status).resolves.toEqual({ ...base, connector_error: 'the connection to the Box server is lost: the server was killed' })
    await expect(service.getStatus()).resolves.toEqual({ ...base, connector_error: 'the server was killed' })
    await service.close()
  })

  test('that the server does not answer, or answers wrongly, is one too', async () => {
    const { server, service } = await connectedStage()
    server.script.on('box_status', { data: [] })
    await expect(service.getStatus()).resolves.toMatchObject({ available: false, connector_error: expect.stringContaining('malformed') })
    server.script.on('box_status', { fails: 'PermissionError: stale generation' })
    await expect(service.getStatus()).resolves.toMatchObject({ available: false, connector_error: 'PermissionError: stale generation' })
    await service.close()
  })

  test('of an older server, which tells less, is one too', async () => {
    const { server, service } = await connectedStage()
    server.script.on('box_status', { data: { backend: { name: 'podman', available: true }, active_sessions: 1 } })
    await expect(service.getStatus()).resolves.toMatchObject({ available: true, active_sessions: 1 })
    server.script.on('box_status', { data: { active_sessions: 1 } })
    await expect(service.getStatus()).resolves.toMatchObject({ available: false })
    await service.close()
  })

  test('of the backend alone holds nothing of a workspace', async () => {
    const { service } = await connectedStage()
    await expect(service.getBackendStatus()).resolves.toEqual({ available: true, enabled: true, backend: STATUS.backend })
    await service.close()
    await expect((await disabledStage()).service.getBackendStatus()).resolves.toMatchObject({ available: false, enabled: false })
  })
})

describe('disabled versus failed', () => {
  test('the status tells them apart', async () => {
    const [disabled, failed] = [await disabledStage(), await failedStage()]
    const base = { available: false, profile: 'default', recent_error_count: 0 }
    await expect(disabled.service.getStatus()).resolves.toEqual({
      ...{ ...base, enabled: false, connector_error: 'the Box runtime is disabled (box.enabled is false)' },
    })
    await expect(failed.service.getStatus()).resolves.toEqual({ ...base, enabled: true, connector_error: 'connection refused' })
    expect({ disabled: disabled.server.opened, failed: failed.server.opened }).toEqual({ disabled: 0, failed: 1 })
    await failed.service.close()
  })

  test.each([
    ['createSkill', (s: BoxStage) => s.service.skills.createSkill(CONTEXT, { name: 'demo' })],
    ['updateSkill', (s: BoxStage) => s.service.skills.updateSkill(CONTEXT, 'demo', {})],
    ['deleteSkill', (s: BoxStage) => s.service.skills.deleteSkill(CONTEXT, 'demo')],
    ['writeSkillFile', (s: BoxStage) => s.service.skills.writeSkillFile(CONTEXT, 'demo', 'a', 'b')],
    ['installSkillZip', (s: BoxStage) => s.service.skills.installSkillZip(CONTEXT, new Uint8Array(1), { filename: 'a.zip' })],
    ['exec', (s: BoxStage) => s.service.exec(QUERY, { command: 'true' })],
    ['createSession', (s: BoxStage) => s.service.createSession({ session_id: 's1' })],
    ['startProcess', (s: BoxStage) => s.service.startProcess('mcp-shared', { command: 'server' })],
  ])('%s is refused in words that tell them apart', async (_name, act) => {
    const [disabled, failed] = [await disabledStage(), await failedStage()]
    await expect(act(disabled)).rejects.toMatchObject({ boxClass: 'BoxRuntimeUnavailableError', details: { enabled: false } })
    await expect(act(disabled)).rejects.toThrow(/which is disabled in the settings; set box.enabled to true/)
    await expect(act(failed)).rejects.toMatchObject({ boxClass: 'BoxRuntimeUnavailableError', details: { enabled: true } })
    await expect(act(failed)).rejects.toThrow(/which failed: connection refused/)
    await failed.service.close()
  })

  test('tools are hidden, skills read as none, in both', async () => {
    for (const stage of [await disabledStage(), await failedStage()]) {
      await expect(stage.service.tools()).resolves.toEqual([])
      await expect(stage.service.skills.listSkills(CONTEXT)).resolves.toEqual([])
      await expect(stage.service.skills.getSkill(CONTEXT, 'demo')).resolves.toBeNull()
      await stage.service.close()
    }
  })
})

describe('sessions', () => {
  test('are listed', async () => {
    const { server, service } = await connectedStage()
    await expect(service.getSessions(OTHER)).resolves.toEqual([SESSION])
    expect(server.script.asked.at(-1)).toMatchObject({ action: 'box_get_sessions', context: OTHER })
    await service.close()
  })

  test('are an empty list on failure', async () => {
    const { server, service } = await connectedStage()
    for (const reply of [{ fails: 'BoxError: no' }, { data: { sessions: 'none' } }, { raw: '{"seq_id":<seq>,"code":0}' }]) {
      server.script.on('box_get_sessions', reply)
      await expect(service.getSessions()).resolves.toEqual([])
    }
    server.script.on('box_get_sessions', 'silence')
    const sessions = service.getSessions()
    await server.script.question('box_get_sessions', 4)
    server.drop('gone')
    await expect(sessions).resolves.toEqual([])
    await expect(service.getSessions()).resolves.toEqual([])
    await service.close()
    await expect((await disabledStage()).service.getSessions()).resolves.toEqual([])
  })
})

describe('the tool exec', () => {
  test('is offered while a sandbox can be had, and only then', async () => {
    const { server, service } = await connectedStage()
    expect((await service.tools()).map(({ name }) => name)).toEqual(['exec'])
    server.script.on('box_get_backend_info', { data: DEAD })
    await expect(service.tools()).resolves.toEqual([])
    await service.close()
  })

  test('shows a model neither session, nor mounts, nor limits', async () => {
    const { service } = await connectedStage()
    const [tool] = await service.tools()
    expect(tool?.parameters).toMatchObject({ type: 'object', required: ['command'], additionalProperties: false })
    expect(Object.keys(tool?.parameters['properties'] ?? {})).toEqual(['command', 'workdir', 'timeout_sec', 'env', 'description'])
    for (const field of ['session_id', 'host_path', 'network', 'image']) {
      await expect(service.exec(QUERY, { command: 'true', [field]: 'x' })).rejects.toMatchObject({ boxClass: 'BoxValidationError' })
    }
    await service.close()
  })

  test('runs in the session of the chat, by the profile, with the context', async () => {
    const stage = await connectedStage({ settings: { local: { profile: 'offline_readonly', image: 'ours' } } })
    await stage.service.exec(QUERY, { command: 'ls', timeout_sec: 600, env: { A: '1' }, description: 'look' })
    expect(lastExec(stage)).toMatchObject({
      context: CONTEXT,
      data: { session_id: 'group_7', cmd: 'ls', timeout_sec: 60, network: 'off', image: 'ours', env: { A: '1' }, read_only_rootfs: true },
    })
    expect(lastExec(stage)?.data).not.toHaveProperty('description')
    await stage.service.close()
  })

  test('gives both streams apart, shortened, and ok only for a command that ended well', async () => {
    const { server, service } = await connectedStage()
    server.script.on('box_exec', { data: { ...RESULT, stdout: 'o'.repeat(9000), stderr: 'e' } })
    await expect(service.exec(QUERY, { command: 'x' })).resolves.toEqual({
      ...{ session_id: 's1', backend: 'docker', status: 'completed', ok: true, exit_code: 0, duration_ms: 98 },
      ...{ stdout: expect.stringMatching(/^o+\n\n\.\.\. \[\d+ characters truncated\] \.\.\.\n\no+$/), stdout_truncated: true },
      ...{ stderr: 'e', stderr_truncated: false },
    })
    server.script.on('box_exec', { data: { ...RESULT, exit_code: 1 } })
    await expect(service.exec(QUERY, { command: 'x' })).resolves.toMatchObject({ ok: false, exit_code: 1 })
    server.script.on('box_exec', { data: { ...RESULT, status: 'timed_out', exit_code: null } })
    await expect(service.exec(QUERY, { command: 'x' })).resolves.toMatchObject({ ok: false, status: 'timed_out' })
    await service.close()
  })

  test('a forced template puts everybody into one session', async () => {
    const stage = await connectedStage({ forcedTemplate: '{global}' })
    await stage.service.exec({ ...QUERY, template: '{query_id}' }, { command: 'x' })
    expect(lastExec(stage)?.data['session_id']).toBe('global')
    await stage.service.close()
  })
})

describe('skills of the pipeline', () => {
  const mounts = (stage: BoxStage) => lastExec(stage)?.data['extra_mounts']

  test('are shown in the one sandbox of the chat; others are not', async () => {
    const stage = await connectedStage()
    stage.server.script.on('box_list_skills', { data: { skills: [SKILL, { ...SKILL, name: 'unbound' }] } })
    await stage.service.exec({ ...QUERY, skills: ['demo'] }, { command: 'x' })
    expect(mounts(stage)).toEqual([{ host_path: '/skills/demo', mount_path: '/workspace/.skills/demo', mode: 'rw' }])
    await stage.service.close()
  })

  test('whose directory is missing or empty are left out with a warning, where this side can see it', async () => {
    const isDirectory = async (path: string) => path === '/skills/there'
    const skills = [SKILL, { name: 'there', package_root: '/skills/there' }, { name: 'empty', package_root: '' }]
    for (const [isLocal, shown] of [
      [true, ['there']],
      [false, ['demo', 'there']],
    ] as const) {
      const stage = await connectedStage({ isDirectory }, isLocal)
      stage.server.script.on('box_list_skills', { data: { skills } })
      await stage.service.exec({ ...QUERY, skills: ['demo', 'there', 'empty'] }, { command: 'x' })
      expect(mounts(stage)).toEqual(shown.map((name) => expect.objectContaining({ mount_path: `/workspace/.skills/${name}` })))
      expect(stage.warned).toEqual(['box: skills without a directory are not shown'])
      await stage.service.close()
    }
  })
})

describe('errors', () => {
  test('are kept with their class, message, time and question, and each workspace sees its own', async () => {
    const { server, service } = await connectedStage()
    server.script.on('box_exec', { fails: 'BoxSessionConflictError: network is off' })
    await expect(service.exec(QUERY, { command: 'x' })).rejects.toBeInstanceOf(BoxError)
    await expect(service.exec({ ...QUERY, context: OTHER }, { command: 'x' })).rejects.toBeInstanceOf(BoxError)
    expect(service.getErrors()).toEqual([
      {
        ...{ timestamp: '2026-11-16T00:00:00.000Z', type: 'BoxSessionConflictError', message: 'BoxSessionConflictError: network is off' },
        ...{ query_id: '42', instance_uuid: 'inst-1', workspace_uuid: 'ws-A' },
      },
    ])
    expect(service.getErrors(OTHER)).toHaveLength(1)
    await expect(service.getStatus()).resolves.toMatchObject({ recent_error_count: 1 })
    await service.close()
  })

  test('are the last fifty', async () => {
    const { server, service } = await connectedStage()
    server.script.on('box_exec', ({ data }) => ({ fails: `BoxError: ${String(data['cmd'])}` }))
    for (let nth = 1; nth <= 60; nth++) await service.exec(QUERY, { command: `c${nth}` }).catch(() => {})
    expect(service.getErrors().map(({ message }) => message)).toEqual(Array.from({ length: 50 }, (_, index) => `BoxError: c${index + 11}`))
    await service.close()
  })
})

test('the relay of a process has the physical id and the headers of the workspace', async () => {
  const { service } = await connectedStage()
  expect(service.relayOf('grp/1:x', 'p 1')).toEqual({
    url: 'ws://box:5410/v1/sessions/ws-2db0470dd734a3cfd13ed6b1-g1-grp-1-x/managed-process/p%201/ws',
    headers: { 'x-langbot-instance-id': 'inst-1', 'x-langbot-workspace-id': 'ws-A', 'x-langbot-placement-generation': '1' },
    protocol: 'mcp',
  })
  await service.close()
})

test('the guidance names the outbox of the message', async () => {
  const { service } = await connectedStage()
  expect(service.guidance(QUERY)).toContain('/workspace/outbox/42/')
  expect(service.guidance({ ...QUERY, query_uuid: 'u-1' })).toContain('/workspace/outbox/u-1/')
  await service.close()
})
