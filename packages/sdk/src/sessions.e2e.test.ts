/** Sessions, commands and events of a real server, as a program sees them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isSkipped, startServerForTests, why } from './contract/running-server.ts'
import type { ServerForTests } from './contract/running-server.ts'
import type { Holdfast, Session } from './index.ts'

describe.skipIf(isSkipped)(`a client of a server${why}`, () => {
  let running: ServerForTests
  let holdfast: Holdfast
  const sessionOf = (key: string): Promise<Session> => holdfast.sessions.getOrCreate({ key, waitMs: 10_000 })
  beforeAll(async () => {
    running = await startServerForTests()
    holdfast = running.client()
  })
  afterAll(() => running.close())

  test('the same conversation is the same session, and another is not', async () => {
    const chat = (id: string) =>
      holdfast.sessions.getOrCreate({ scope: 'chat', variables: { launcher_type: 'group', launcher_id: id }, labels: { Team_a: 'x' } })
    const [one, again, other] = [await chat('1'), await chat('1'), await chat('2')]
    expect(again.id).toBe(one.id)
    expect(other.id).not.toBe(one.id)
    expect(one.key).toBe('group_1')
    expect(one.record).toMatchObject({ labels: { Team_a: 'x' }, onIdle: 'suspend', incarnation: 1 })
    expect(one.record.limits).toHaveProperty('memoryBytes')
    expect((await holdfast.sessions.list({ labels: { Team_a: 'x' }, pageSize: 1 }).take()).map(({ id }) => id)).toEqual([other.id, one.id])
    expect(await holdfast.sessions.list({ key: 'group_1', state: ['released', 'failed'] }).take()).toEqual([])
  })

  test('a profile shapes a session, and what it locks is refused', async () => {
    const profiles = await holdfast.profiles()
    expect(profiles).toMatchObject({ default: null, items: expect.arrayContaining([expect.objectContaining({ workspaceMode: 'ro' })]) })
    expect(profiles.items[0]).toMatchObject({ name: 'default', builtIn: true, maxTimeoutMs: 120_000, limits: { workspaceBytes: null } })
    expect(await holdfast.pipelines()).toEqual({ forcedScope: null, items: [] })
    const wish = { key: 'profiled', profile: 'offline_readonly', limits: { workspaceBytes: 1_048_576 } }
    const { record } = await holdfast.sessions.getOrCreate(wish)
    expect(record).toMatchObject({
      ...{ profile: 'offline_readonly', pipeline: null, rootfs: 'read-only', mounts: [] },
      ...{ workspaceMount: { source: null, mode: 'ro', target: '/workspace' }, limits: { pids: 64, workspaceBytes: 1_048_576 } },
    })
    const locked = { code: 'profile_locked', details: { fields: ['network'] } }
    await expect(holdfast.exec({ key: 'x', profile: 'offline_readonly', network: 'on', command: 'true' })).rejects.toMatchObject(locked)
    const mounts = [{ source: '/etc', target: '/mnt/etc', mode: 'ro' }] as const
    await expect(holdfast.exec({ key: 'x', mounts, command: 'true' })).rejects.toMatchObject({ code: 'mount_refused' })
  })

  test('a command’s output, exit code and time come back; failing is a result', async () => {
    const session = await sessionOf('plain')
    const result = await session.commands.run('echo out; echo "$a_Name" >&2; exit 3', { env: { a_Name: 'as it is' } })
    expect(result).toMatchObject({ exitCode: 3, status: 'completed', stdout: 'out\n', stderr: 'as it is\n', stdoutTruncated: false })
    expect(result.session).toMatchObject({ id: session.id, key: 'plain', notice: null })
    expect(await session.commands.run(['printf', '%s', 'a b'])).toMatchObject({ stdout: 'a b', exitCode: 0 })
    expect(await session.commands.run('sleep 60', { timeoutMs: 50 })).toMatchObject({ status: 'timed_out', exitCode: null })
    expect(await session.commands.run('pwd', { cwd: '/tmp', stdin: 'x', timeoutMs: 55_000 })).toMatchObject({ stdout: '/tmp\n' })
    await expect(session.commands.run(['no-such-program'])).rejects.toMatchObject({ code: 'command_not_started' })
  })

  test('a watched command says the same, piece by piece, with whole characters', async () => {
    const session = await sessionOf('watched')
    const heard: string[] = []
    const script = 'printf "é"; printf "\\342\\202"; sleep 0.2; printf "\\254 end\\377"; echo no >&2; exit 4'
    const result = await session.commands.run(script, { onStdout: (text) => void heard.push(text) })
    expect(heard.join('')).toBe('é€ end\uFFFD')
    expect(heard.length).toBeGreaterThan(1)
    expect(result).toMatchObject({ exitCode: 4, stdout: 'é€ end\uFFFD', stderr: 'no\n', stdoutTruncated: false })
    expect(await session.commands.run('sleep 60', { timeoutMs: 50, onStdout: () => undefined })).toMatchObject({ status: 'timed_out' })
  })

  test('whoever gives up on a command ends it, however it was run', async () => {
    const session = await sessionOf('given-up')
    const plain = new AbortController()
    const waiting = session.commands.run('sleep 61', { signal: plain.signal })
    await expect.poll(async () => (await session.commands.list().take(1))[0]?.status).toBe('running')
    plain.abort(new Error('never mind'))
    await expect(waiting).rejects.toThrow('never mind')
    await expect.poll(async () => (await session.commands.list().take(1))[0]?.status).toBe('cancelled')

    const watched = new AbortController()
    const script = 'echo up; sleep 62'
    await expect(
      session.commands.run(script, { signal: watched.signal, onStdout: () => watched.abort(new Error('seen')) }),
    ).rejects.toThrow('seen')
    expect((await session.commands.list().take(1))[0]?.status).toBe('cancelled')
    const failing = () => {
      throw new Error('the callback failed')
    }
    await expect(session.commands.run(script, { onStdout: failing })).rejects.toThrow('the callback failed')
    expect((await session.commands.list().take(1))[0]?.status).toBe('cancelled')
  })

  test('the main job is one call, as a whole and as a stream', async () => {
    const result = await holdfast.exec({ key: 'job', command: 'echo hello > note; cat note', limits: { pids: 64 } })
    expect(result).toMatchObject({ stdout: 'hello\n', exitCode: 0, session: { key: 'job' } })
    const heard: string[] = []
    const streamed = await holdfast.exec({
      sessionId: result.session.id,
      command: 'cat note; echo no >&2; exit 2',
      onStdout: (text) => void heard.push(`out ${text}`),
      onStderr: (text) => void heard.push(`err ${text}`),
      onStarted: ({ session }) => void heard.push(session.key),
    })
    expect(heard.toSorted()).toEqual(['err no\n', 'job', 'out hello\n'])
    expect(heard[0]).toBe('job')
    expect(streamed).toMatchObject({ exitCode: 2, stdout: 'hello\n', stderr: 'no\n', session: { id: result.session.id } })
    await expect(holdfast.exec({ key: 'job', command: 'true', limits: { pids: 65 } })).rejects.toMatchObject({
      ...{ code: 'session_incompatible', status: 409, retry: 'after-change', details: { fields: ['limits.pids'] } },
    })
  })

  test('a stream of the main job is whole, however slow its reader is', async () => {
    let size = 0
    const result = await holdfast.exec({
      key: 'job',
      command: 'head -c 6000000 /dev/zero | tr "\\0" x',
      async onStdout(text) {
        size += text.length
        await new Promise((resolve) => void setTimeout(resolve, 1))
      },
    })
    expect(size).toBe(6_000_000)
    expect(result).toMatchObject({ exitCode: 0, stdoutTruncated: true })
    expect(result.stdout).toHaveLength(1024 * 1024)
  })

  test('a session is steered, and its record follows', async () => {
    const session = await sessionOf('steered')
    expect(await session.refresh({ leaseSeconds: 600 })).toMatchObject({ id: session.id })
    expect(session.record.deadlines.leaseAt).not.toBeNull()
    const { version } = await session.update({ metadata: { Some_key: 'v' } })
    expect(session.record.metadata).toEqual({ Some_key: 'v' })
    await expect(session.update({ labels: {}, ifVersion: version - 1 })).rejects.toMatchObject({ code: 'version_conflict' })
    expect(await session.hold({ reason: 'look' })).toMatchObject({ held: { reason: 'look' } })
    await expect(session.commands.run('true')).rejects.toMatchObject({ code: 'session_held' })
    expect((await session.unhold()).held).toBeNull()
    expect(await session.suspend()).toMatchObject({ state: 'suspended', suspendReason: 'caller' })
    await session.resume()
    expect(await session.commands.run('true')).toMatchObject({ exitCode: 0, session: { incarnation: 2 } })
    expect(await session.cancelWork({ graceMs: 0 })).toMatchObject({ verified: true })
    expect(['closing', 'cancelled']).toContain((await session.cancel()).state)
    await expect(session.commands.run('true')).rejects.toMatchObject({ code: 'session_closed' })
    const given = await sessionOf('given')
    expect(await given.transfer({ owner: 'somebody', ifVersion: (await given.reload()).version })).toMatchObject({ owner: 'somebody' })
  })

  test('leaving a block lets go of the session; it ends only where that was asked for', async () => {
    let kept = ''
    {
      await using session = await sessionOf('kept')
      kept = session.id
    }
    expect((await sessionOf('kept')).id).toBe(kept)
    let ended = ''
    {
      await using session = await holdfast.sessions.getOrCreate({ key: 'ended', release: 'on-dispose' })
      ended = session.id
    }
    expect((await holdfast.sessions.get(ended)).record.closeReason).toBe('release')
  })

  test('events of all sessions come as they happen, and a place that never was is told', async () => {
    const seen: string[] = []
    const leaving = new AbortController()
    const beacon = await sessionOf('beacon')
    let told = ''
    const reading = (async () => {
      for await (const event of holdfast.events({ signal: leaving.signal })) {
        seen.push(`${event.type} ${event.sessionId}`)
        if (event.type === 'session.released' && event.sessionId === told) return
      }
    })()
    // What happens before anybody listens is not told: so something happens until somebody does.
    for (let turn = 0; seen.length === 0; turn += 1) await beacon.update({ labels: { turn: `${turn}` } })
    const session = await sessionOf('told')
    told = session.id
    await session.commands.run('true')
    await session.release()
    await reading
    const types = seen.filter((event) => event.endsWith(session.id)).map((event) => event.split(' ')[0])
    expect(types).toEqual(expect.arrayContaining(['session.created', 'execution.started', 'execution.ended', 'session.released']))
    const wrong = holdfast.events({ after: 'evt_never' })[Symbol.asyncIterator]()
    await expect(wrong.next()).rejects.toMatchObject({ code: 'cursor_expired', status: 410 })
    const gaps: string[] = []
    const tail = holdfast.events({ after: 'evt_never', onGap: ({ code }) => void gaps.push(code), signal: leaving.signal })
    // Sessions of other tests may still be ending.
    const toTheEnd = Array.fromAsync(tail)
    await expect.poll(() => gaps).toEqual(['cursor_expired'])
    leaving.abort(new Error('enough'))
    await expect(toTheEnd).rejects.toThrow('enough')
  })

  test('a session’s events go on after a gap where its record is', async () => {
    const session = await sessionOf('gap')
    const ahead = session.record.eventSeq + 100
    await expect(session.events({ after: ahead })[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 'cursor_expired' })
    const events = session.events({ after: ahead, onGap: 'resume' })[Symbol.asyncIterator]()
    const next = events.next()
    await session.update({ labels: { a: 'b' } })
    const { value } = await next
    expect(value?.seq).toBeLessThan(ahead)
    await events.return?.()
  })

  test('profiles and pipelines are created, replaced on their version and removed', async () => {
    const made = await holdfast.profiles.create('tiny', { network: 'on', limits: { memoryBytes: 2 ** 28 }, maxTimeoutMs: 60_000 })
    expect(made).toMatchObject({ source: 'tenant', readOnly: false, version: 1, limits: { memoryBytes: 2 ** 28 } })
    const changed = await holdfast.profiles.replace('tiny', { network: 'off' }, { ifVersion: 1 })
    expect(changed).toMatchObject({ version: 2, network: 'off' })
    await expect(holdfast.profiles.replace('tiny', {}, { ifVersion: 1 })).rejects.toMatchObject({ code: 'version_conflict' })
    await holdfast.pipelines.create('letters', { scope: '{sender_id}', profile: 'tiny', skills: ['pdf'] })
    expect(await holdfast.pipelines.get('letters')).toMatchObject({ profile: 'tiny', skills: ['pdf'], version: 1 })
    await expect(holdfast.profiles.remove('tiny')).rejects.toMatchObject({ code: 'profile_in_use' })
    expect(await holdfast.pipelines.replace('letters', {}, { ifVersion: 1 })).toMatchObject({ scope: 'chat', profile: null })
    await holdfast.pipelines.remove('letters', { ifVersion: 2 })
    await holdfast.profiles.remove('tiny')
    expect((await holdfast.profiles()).items.map(({ name }) => name)).not.toContain('tiny')
    await expect(holdfast.profiles.remove('default')).rejects.toMatchObject({ code: 'read_only' })
  })

  test('administration: tenants, keys, webhooks, audit, facts', async () => {
    const tenant = await holdfast.tenants.create({ name: 'acme', quotas: { openSessions: 5 }, policy: { ceilings: { idleSeconds: 60 } } })
    expect(tenant).toMatchObject({ name: 'acme', quotas: { openSessions: 5 }, policy: { adminExec: false, ceilings: { idleSeconds: 60 } } })
    const changed = await holdfast.tenants.setQuotas(tenant.id, { openSessions: null }, { ifVersion: tenant.version })
    expect(changed.quotas.openSessions).toBeNull()
    await expect(holdfast.tenants.setPolicy(tenant.id, {}, { ifVersion: tenant.version })).rejects.toMatchObject({
      code: 'version_conflict',
    })
    expect((await holdfast.tenants.list().take()).map(({ name }) => name)).toContain('acme')
    const inside = running.client({ tenant: tenant.id })
    const { key, ...made } = await inside.keys.create({ name: 'robot', subject: 'robot', kind: 'service', expiresInSeconds: 3600 })
    expect(made).toMatchObject({ tenantId: tenant.id, kind: 'service', role: 'member', users: { own: true } })
    const service = running.client({ apiKey: key, onBehalfOf: 'ann', groups: ['a', 'b'] })
    const session = await service.sessions.getOrCreate({ key: 'hers' })
    expect(session.record.owner).toBe('robot/ann')
    await expect(holdfast.sessions.get(session.id)).rejects.toMatchObject({ code: 'not_found' })
    // Who speaks for somebody does so over a socket too.
    const terminal = await session.pty.create({ command: 'exit 5' })
    expect(await terminal.wait()).toMatchObject({ exitCode: 5 })
    expect((await inside.keys.revoke(made.id)).revokedAt).not.toBeNull()
    await expect(service.quotas()).rejects.toMatchObject({ code: 'unauthorized' })
    expect((await inside.keys.list().take()).map(({ id }) => id)).toEqual([made.id])
    const hook = await inside.webhooks.create({ url: 'https://example.invalid/hook', types: ['session.created'] })
    expect(hook.secret).not.toBe('')
    expect(await inside.webhooks.pause(hook.id)).toMatchObject({ state: 'paused', lastProblem: null })
    expect(await inside.webhooks.resume(hook.id)).toMatchObject({ state: 'active' })
    await inside.webhooks.remove(hook.id)
    expect(await inside.webhooks.list()).toEqual([])
    const records = await inside.audit.list({ sessionId: session.id }).take()
    expect(records.map(({ action }) => action)).toContain('session.create')
    expect(records[0]).toMatchObject({ sessionId: session.id, actor: { subject: expect.any(String) as string } })
    expect(await holdfast.audit.verify()).toMatchObject({ problems: 0, items: [] })
    expect(await holdfast.tenants.terminate(tenant.id)).toMatchObject({ state: 'terminating' })
    expect((await holdfast.tenants.get(tenant.id)).state).toMatch(/^terminat/)
    expect(await holdfast.health()).toMatchObject({ status: 'ok', backend: 'bubblewrap' })
    await holdfast.ready()
    expect((await holdfast.backends()).find(({ chosen }) => chosen)).toMatchObject({
      kind: 'bubblewrap',
      capabilities: { networkOn: expect.any(Boolean) as boolean },
    })
    expect((await holdfast.scopes({ lang: 'ja-JP' })).items[0]?.idleSeconds).toBeGreaterThan(0)
    expect((await holdfast.quotas()).items.map(({ quota }) => quota)).toContain('open_sessions')
    expect((await holdfast.sandboxes().take(1))[0]).toMatchObject({ backend: 'bubblewrap', state: 'ready' })
    expect((await holdfast.errors()).map(({ code }) => code)).toContain('cursor_expired')
  })
})
