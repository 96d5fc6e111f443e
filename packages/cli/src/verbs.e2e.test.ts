/** Every other verb against a real server: what it prints in each shape, what it changes, how it refuses. */
import { once } from 'node:events'
import { parse } from 'yaml'
import { expect, test } from 'vitest'
import { onBubblewrap, PATIENCE_MS } from './contract/on-bubblewrap.ts'

const PATIENCE = { timeout: PATIENCE_MS }

onBubblewrap('the verbs', (stage) => {
  const holdfast = (...args: readonly string[]) => stage().server.holdfast(args)
  /** What it printed as JSON. */
  const json = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await holdfast(...args, '-o', 'json')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const value: { readonly [name: string]: unknown } = JSON.parse(stdout)
    return value
  }

  test('a session is made, looked at in three shapes, and listed', async () => {
    const made = await json('sessions', 'create', 'looked-at', '--label', 'team=a', '--idle', '30m', '--metadata', 'a.Key=v')
    expect(made).toMatchObject({
      key: 'looked-at',
      state: 'idle',
      labels: { team: 'a' },
      metadata: { 'a.Key': 'v' },
      event_seq: expect.any(Number),
    })
    const id = String(made['id'])
    expect(await json('sessions', 'get', id)).toEqual(await json('sessions', 'get', 'looked-at'))
    expect(parse((await holdfast('sessions', 'get', 'looked-at', '-o', 'yaml')).stdout)).toMatchObject({ id, labels: { team: 'a' } })
    expect((await holdfast('sessions', 'get', 'looked-at', '-q')).stdout).toBe(`${id}\n`)
    const table = (await holdfast('sessions', 'ls', '--label', 'team=a')).stdout.split('\n')
    expect(table[0]).toMatch(/^ID +KEY +STATE +OWNER +RUNS +CREATED +ENDS$/)
    expect(table[1]).toMatch(new RegExp(`^${id}  looked-at  idle +admin +0 +\\S+ ago`))
    expect(table).toHaveLength(3)
    expect((await holdfast('sessions', 'ls', '--label', 'team=b', '-q')).stdout).toBe('')
  })

  test('a link to an app inside is printed alone, and its end told beside it', async () => {
    await json('sessions', 'create', 'shown')
    const { code, stdout, stderr } = await holdfast('preview', 'shown', '8000', '--ttl', '10m')
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^http:\/\/[a-z0-9-]+\.localhost:\d+\/\n$/)])
    expect(stderr).toMatch(/works until .* \(in (9|10)m/)
    expect(await json('preview', '-s', 'shown', '8000')).toMatchObject({
      port: 8000,
      url: expect.any(String),
      expires_at: expect.any(String),
    })
    expect(await holdfast('preview', 'shown', 'http')).toMatchObject({ code: 2 })
    expect(await holdfast('preview', 'shown', '8000', '--ttl', '2d')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('ttl_seconds'),
    })
    expect(await holdfast('preview', 'nobody-has-this', '8000')).toMatchObject({ code: 1 })
  })

  test('a scope names a session that exists, and reading it makes none', async () => {
    const chat = ['--scope', 'chat', '--var', 'launcher_type=group', '--var', 'launcher_id=77']
    expect(await holdfast('sessions', 'get', ...chat)).toMatchObject({ code: 1, stderr: expect.stringContaining('"group_77"') })
    const made = await json('sessions', 'create', ...chat)
    expect(await json('sessions', 'get', ...chat)).toMatchObject({ id: made['id'], scope: 'chat' })
    expect(await holdfast('sessions', 'get', '--scope', 'chat')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--var launcher_type='),
    })
  })

  test('of keys that read alike the named one is meant, and of two such the person is asked', async () => {
    const chat = ['--scope', 'chat', '--var', 'launcher_type=group', '--var', 'launcher_id=88']
    const scoped = await json('sessions', 'create', ...chat)
    expect(await json('sessions', 'get', 'group_88')).toMatchObject({ id: scoped['id'] })
    const named = await json('sessions', 'create', 'group_88')
    expect(named['id']).not.toBe(scoped['id'])
    expect(await json('sessions', 'get', 'group_88')).toMatchObject({ id: named['id'] })
    expect(await json('sessions', 'get', ...chat)).toMatchObject({ id: scoped['id'] })
    const other = await json('sessions', 'create', 'group_88', '--owner', 'bob')
    const { code, stderr } = await holdfast('sessions', 'get', 'group_88')
    expect(code).toBe(2)
    for (const { id } of [scoped, named, other]) expect(stderr).toContain(String(id))
  })

  test('a session is steered: labels, lease, suspended, resumed, held, given away, released', async () => {
    await json('sessions', 'create', 'steered', '--label', 'a=1', '--label', 'b=2')
    expect(await json('sessions', 'label', 'steered', '--set', 'c=3', '--remove', 'a')).toMatchObject({ labels: { b: '2', c: '3' } })
    expect(await json('sessions', 'refresh', 'steered', '--lease', '2h')).toMatchObject({ deadlines: { lease_at: expect.any(String) } })
    expect((await holdfast('sessions', 'suspend', 'steered')).code).toBe(0)
    await expect.poll(async () => (await json('sessions', 'get', 'steered'))['state'], PATIENCE).toBe('suspended')
    expect((await holdfast('sessions', 'resume', 'steered')).code).toBe(0)
    await expect.poll(async () => (await json('sessions', 'get', 'steered'))['state'], PATIENCE).toBe('idle')
    expect(await json('sessions', 'hold', 'steered', '--reason', 'to see')).toMatchObject({ held: { reason: 'to see' } })
    expect((await holdfast('exec', '-s', 'steered', '--', 'true')).code).toBe(125)
    expect(await json('sessions', 'unhold', 'steered')).toMatchObject({ held: null })
    expect(await json('sessions', 'cancel-work', 'steered')).toMatchObject({ executions: 0, verified: true })
    expect(await json('sessions', 'transfer', 'steered', '--to', 'bob')).toMatchObject({ owner: 'bob' })
    expect(await holdfast('sessions', 'transfer', 'steered', '--to', 'carol', '--if-version', '1')).toMatchObject({ code: 1 })
    expect((await holdfast('sessions', 'release', 'steered')).code).toBe(0)
    await expect.poll(async () => (await json('sessions', 'get', 'steered'))['state'], PATIENCE).toBe('released')
    expect((await holdfast('sessions', 'ls', '--key', 'steered', '-q')).stdout).toBe('')
    expect((await holdfast('sessions', 'ls', '-a', '--key', 'steered', '-q')).stdout).toMatch(/^ses_/)
  })

  test('events are told up to now, and with -f as they come', async () => {
    const made = await json('sessions', 'create', 'told')
    const { stdout } = await holdfast('sessions', 'events', 'told', '-o', 'json')
    const kept = stdout
      .trim()
      .split('\n')
      .map((line): { readonly type: string; readonly session_id: string } => JSON.parse(line))
    expect(kept.map(({ type }) => type)).toContain('session.created')
    expect(kept.every(({ session_id }) => session_id === made['id'])).toBe(true)
    expect((await holdfast('events')).stdout).toContain(`${String(made['id'])}  session.created  nothing → pending`)

    const following = stage().server.start(['events', '-f', '--after', 'now', '-o', 'json'])
    const lines = following.stdout?.setEncoding('utf8')[Symbol.asyncIterator]()
    // Only what happens after it listens is told, so something happens until it tells.
    const told = lines?.next()
    await expect
      .poll(async () => {
        await holdfast('sessions', 'refresh', 'told')
        await holdfast('exec', '-s', 'told', '--', 'true')
        return Promise.race([told, Promise.resolve(null)])
      }, PATIENCE)
      .not.toBe(null)
    following.kill('SIGINT')
    expect(await once(following, 'exit')).toEqual([130, null])
  })

  test('keys: made and shown once, used, listed, revoked', async () => {
    const made = await json('keys', 'create', 'laptop', '--subject', 'alice', '--role', 'member', '--expires', '7d')
    expect(made).toMatchObject({ name: 'laptop', subject: 'alice', role: 'member', key: expect.stringMatching(/^hf_/) })
    const asAlice = (...args: readonly string[]) => stage().server.holdfast(args, '', { HOLDFAST_API_KEY: String(made['key']) })
    expect((await asAlice('exec', '-s', 'hers', '-c', 'echo hi')).stdout).toBe('hi\n')
    expect((await asAlice('sessions', 'ls')).stdout).toMatch(/hers +\S+ +alice/)
    expect(await asAlice('keys', 'ls')).toMatchObject({ code: 1, stdout: '' })
    expect((await holdfast('keys', 'ls')).stdout).toContain('laptop')
    expect((await holdfast('keys', 'ls')).stdout).not.toContain(String(made['key']))
    expect((await holdfast('keys', 'revoke', String(made['id']))).code).toBe(0)
    expect((await holdfast('keys', 'ls')).stdout).not.toContain('laptop')
    expect(await asAlice('sessions', 'ls')).toMatchObject({ code: 1, stderr: expect.stringContaining('HOLDFAST_API_KEY') })
  })

  test('tenants and webhooks are made, shaped and ended', async () => {
    const tenant = String((await json('tenants', 'create', 'acme', '--open-sessions', '5', '--max-idle', '1h'))['id'])
    expect(await json('tenants', 'get', tenant)).toMatchObject({
      name: 'acme',
      quotas: { open_sessions: 5 },
      policy: { ceilings: { idle_seconds: 3600 } },
    })
    expect(await json('tenants', 'set-quotas', tenant, '--open-sessions', 'none')).toMatchObject({ quotas: { open_sessions: null } })
    expect(await json('tenants', 'set-policy', tenant, '--admin-exec')).toMatchObject({ policy: { admin_exec: true } })
    expect((await holdfast('exec', '-s', 'there', '--tenant', tenant, '-c', 'echo in acme')).stdout).toBe('in acme\n')
    expect((await holdfast('sessions', 'ls', '--tenant', tenant)).stdout).toContain('there')
    expect((await holdfast('sessions', 'ls')).stdout).not.toContain('there')
    const table = (await holdfast('tenants', 'get', 'acme')).stdout
    expect(table).toMatch(/admin exec +allowed[^]*quota of open sessions +none/)
    expect(table).not.toContain('{')
    expect(await json('tenants', 'terminate', tenant)).toMatchObject({ state: 'terminating' })

    const hook = await json('webhooks', 'create', 'https://hooks.invalid/x', '--type', 'session.created')
    expect(hook).toMatchObject({ types: ['session.created'], secret: expect.any(String) })
    expect((await holdfast('webhooks', 'ls')).stdout).toMatch(/https:\/\/hooks\.invalid(?!\/x)/)
    expect(await json('webhooks', 'pause', String(hook['id']))).toMatchObject({ state: 'paused' })
    expect((await holdfast('webhooks', 'rm', String(hook['id']))).code).toBe(0)
    expect((await holdfast('webhooks', 'ls', '-q')).stdout).toBe('')
  })

  test('profiles and pipelines are stored, replaced and removed, and those of the server are read-only', async () => {
    const flags = ['--network', 'on', '--memory', '256m', '--max-timeout', '1m', '--lock', 'network']
    expect(await json('profiles', 'create', 'small', ...flags)).toMatchObject({
      ...{ source: 'tenant', version: 1, network: 'on', max_timeout_ms: 60_000, locked: ['network'] },
    })
    expect((await holdfast('profiles', 'get', 'small')).stdout).toMatch(/memory +256 MiB[^]*locked +network/)
    expect(await json('profiles', 'set', 'small', '--network', 'off')).toMatchObject({ version: 2, network: 'off', locked: [] })
    expect((await holdfast('profiles', 'set', 'default', '--network', 'on')).stderr).toContain("'default' is built in and is read-only")
    expect(await json('pipelines', 'create', 'mail', '--scope', '{sender_id}', '--profile', 'small')).toMatchObject({ profile: 'small' })
    expect((await holdfast('pipelines', '-q')).stdout).toBe('mail\n')
    expect((await holdfast('profiles', 'rm', 'small')).stderr).toContain('is named by the pipelines mail')
    expect((await holdfast('pipelines', 'rm', 'mail')).code).toBe(0)
    expect((await holdfast('profiles', 'rm', 'small')).code).toBe(0)
    expect((await holdfast('profiles', 'ls', '-q')).stdout).not.toContain('small')
  })

  test('what the server is and has', async () => {
    expect(await json('scopes')).toMatchObject({
      default: 'chat',
      items: expect.arrayContaining([expect.objectContaining({ name: 'chat' })]),
    })
    expect((await holdfast('scopes', '-q')).stdout.split('\n')).toContain('chat')
    expect(await json('profiles')).toMatchObject({
      default: null,
      items: expect.arrayContaining([
        expect.objectContaining({ name: 'offline_readonly', locked: ['network', 'workspace.mode', 'rootfs', 'home'] }),
      ]),
    })
    expect((await holdfast('profiles')).stdout).toMatch(/network_extended .*writable/)
    expect(await json('pipelines')).toEqual({ forced_scope: null, items: [] })
    expect(await json('backends')).toMatchObject({
      items: expect.arrayContaining([expect.objectContaining({ kind: 'bubblewrap', chosen: true })]),
    })
    expect(await json('quotas')).toMatchObject({
      owner: 'admin',
      items: expect.arrayContaining([expect.objectContaining({ quota: 'open_sessions' })]),
    })
    expect((await holdfast('exec', '-s', 'housed', '--', 'true')).code).toBe(0)
    expect(await holdfast('exec', '-s', 'locked', '--profile', 'offline_readonly', '--', 'touch', 'x')).toMatchObject({ code: 1 })
    expect(await json('sessions', 'get', 'locked')).toMatchObject({ profile: 'offline_readonly' })
    expect((await holdfast('exec', '--pipeline', 'sales', '--', 'true')).stderr).toContain("there is no pipeline 'sales'")
    expect((await holdfast('sessions', 'cancel', 'locked')).code).toBe(0)
    const [sandbox = ''] = (await holdfast('sandboxes', 'ls', '-q')).stdout.split('\n')
    expect(await json('sandboxes', 'get', sandbox)).toMatchObject({ id: sandbox, backend: 'bubblewrap' })
    expect(await json('audit', 'verify')).toMatchObject({ problems: 0 })
    expect((await holdfast('audit', 'ls', '-n', '5')).stdout.split('\n')).toHaveLength(7)
    expect((await holdfast('version')).stdout).toMatch(/^holdfast \d+\.\d+\.\d+ /)
    expect((await holdfast('__complete', 'sessions')).stdout).toContain('housed\t')
  })

  test('refusals are one sentence with a hint, 1 from the server and 2 for wrong use', async () => {
    for (const [args, code, sentence] of [
      [['sessions', 'get', 'no-such'], 1, /^holdfast: there is no session with the key "no-such"\n {2}.*sessions ls/],
      [['sessions', 'get', 'ses_0000000000000000'], 1, /^holdfast: .*\n {2}.*sessions ls/],
      [['sessions', 'get'], 2, /^holdfast: name the session/],
      [['sessions', 'lss'], 2, /^holdfast: unknown command 'lss'\n\(Did you mean ls\?\)\n/],
      [['exce'], 2, /^holdfast: unknown command 'exce'\n\(Did you mean exec\?\)\n/],
      [
        ['sessions', 'ls', '--url', 'http://127.0.0.1:9'],
        1,
        /^holdfast: cannot reach the server at http:\/\/127\.0\.0\.1:9.*\n {2}Start it with `holdfast up`/,
      ],
      [['sessions', 'ls', '--url', 'nowhere'], 2, /^holdfast: url: "nowhere" is not an address/],
      [['sessions', 'create', 'x', '--image', ''], 1, /^holdfast: image: must not be empty/],
      [['sessions', 'release', '--if-busy', 'maybe', 'x'], 2, /^holdfast: .*'maybe' is invalid/],
      [
        ['exec', '-d', '-s', 'ses_0000000000000000', '--profile', 'default', '--', 'true'],
        125,
        /^holdfast: a session that is named by its id has its sandbox/,
      ],
      [['cp', 'a', 'b'], 2, /^holdfast: either the target or all sources must be in a session/],
      [['cp', '/no/such/file', 'copied:'], 1, /^holdfast: on this machine: ENOENT/],
    ] as const) {
      const ran = await holdfast(...args)
      expect({ args, code: ran.code, stdout: ran.stdout }).toEqual({ args, code, stdout: '' })
      expect(ran.stderr).toMatch(sentence)
    }
  })

  test('a reader who has seen enough ends it quietly', async () => {
    const child = stage().server.start(['events'])
    child.stdout?.destroy()
    const errors: string[] = []
    child.stderr?.setEncoding('utf8').on('data', (text: string) => errors.push(text))
    expect(await once(child, 'close')).toEqual([141, null])
    expect(errors).toEqual([])
  })
})
