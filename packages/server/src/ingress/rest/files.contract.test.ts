/** Files over REST, on real bubblewrap: entries, names, errors, rights. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { because } from '../../../../../test/environment/backends.ts'
import { bubblewrapUnderTest, openRealServer } from './contract/real-server.ts'
import type { Asking, RealServer } from './contract/real-server.ts'

const under = await bubblewrapUnderTest()

describe.skipIf(under.skipReason !== null)(`files${because(under)}`, () => {
  let real: RealServer
  let ada: string
  let session: string
  beforeAll(async () => {
    real = await openRealServer()
    ada = await real.keyOf({ subject: 'ada' })
    session = await real.session('work', {}, ada)
  })
  afterAll(() => real.close())

  const at = (path: string, query: Readonly<Record<string, string>> = {}, route = '', id = session) =>
    `/v1/sessions/${id}/files${route}?${new URLSearchParams({ path, ...query }).toString()}`
  const put = (path: string, body: string | Uint8Array, query: Readonly<Record<string, string>> = {}) =>
    real.request(at(path, query), { method: 'PUT', body, key: ada })
  const get = (path: string, headers: Record<string, string> = {}) => real.request(at(path), { key: ada, headers })
  const post = (route: string, body: object) =>
    real.request(`/v1/sessions/${session}/files/${route}`, { method: 'POST', body: JSON.stringify(body), key: ada })
  const remove = (path: string, query: Readonly<Record<string, string>> = {}) =>
    real.request(at(path, query), { method: 'DELETE', key: ada })
  const stat = (path: string, query: Readonly<Record<string, string>> = {}) => real.request(at(path, query, '/stat'), { key: ada })
  const sh = (command: string) => real.sh(session, command, ada)
  const told = async (response: Response) => ({ status: response.status, body: (await response.json()) as Record<string, unknown> })

  test('what is written is there for the next command, with its mode, and is told as an entry', async () => {
    const written = await told(await put('notes/today.txt', 'hello\n', { mode: '0640' }))
    expect(written).toMatchObject({
      status: 200,
      body: { path: '/workspace/notes/today.txt', type: 'file', size: 6, mode: '0640', owner: 'user', target: null },
    })
    expect(await sh('cat notes/today.txt; stat -c %a notes/today.txt')).toBe('hello\n640\n')
    const read = await get('notes/today.txt')
    expect(Object.fromEntries(read.headers)).toMatchObject({
      ...{
        'content-type': 'text/plain; charset=utf-8',
        'content-length': '6',
        'accept-ranges': 'bytes',
        'x-content-type-options': 'nosniff',
      },
      ...{
        etag: expect.stringMatching(/^W\/".+"$/),
        'last-modified': expect.stringMatching(/GMT$/),
        'x-request-id': expect.stringMatching(/^req_/),
      },
    })
    expect(await read.text()).toBe('hello\n')
    expect(await told(await stat('/workspace/notes/today.txt'))).toEqual(written)
  })

  test('names are taken as they are: spaces, newlines, quotes, other scripts, a leading dash', async () => {
    for (const name of ['a b', 'a\nb', `'"\`$(id)`, 'ж–日本語–🦞', '-rf', '..x', 'a\\b', '%2e%2e', 'tab\there']) {
      expect(await told(await put(`names/${name}`, name))).toMatchObject({ status: 200, body: { path: `/workspace/names/${name}` } })
      expect(await (await get(`names/${name}`)).text()).toBe(name)
    }
    const { body } = await told(await real.request(at('names', {}, '/list'), { key: ada }))
    expect((body['items'] as { readonly path: string }[]).map(({ path }) => path)).toContain('/workspace/names/a\nb')
    expect(await sh('find names -type f -printf x')).toBe('x'.repeat(9))
  })

  test('.. and links lead where they lead inside, and never out', async () => {
    await put('sub/inner.txt', 'inner')
    expect(await (await get('sub/../sub/inner.txt')).text()).toBe('inner')
    expect(await (await get('../../../../workspace/sub/inner.txt')).text()).toBe('inner')
    const outside = real.server.keyFile ?? ''
    expect(outside).not.toBe('')
    expect(await told(await get(`${'../'.repeat(20)}${outside.slice(1)}`))).toMatchObject({ status: 404, body: { code: 'file_not_found' } })
    await sh(`ln -sfn ${outside} way-out; ln -sfn /proc/1/root/etc proc-out`)
    expect(await told(await get('way-out'))).toMatchObject({ status: 404, body: { code: 'file_not_found' } })
    expect((await get('proc-out/shadow')).status).toBeGreaterThanOrEqual(403)
    expect(await told(await stat('way-out'))).toMatchObject({ status: 200, body: { type: 'symlink', target: outside } })
    expect(await told(await stat('way-out', { follow: 'true' }))).toMatchObject({ status: 404 })
    const key = readFileSync(outside, 'utf8')
    await put('way-out', 'overwritten')
    await put('proc-out/hosts', 'overwritten')
    expect(readFileSync(outside, 'utf8')).toBe(key)
    expect(readFileSync('/etc/hosts', 'utf8')).not.toBe('overwritten')
  })

  test('what the file system refuses is told by its kind, and names the path', async () => {
    await put('there', 'x')
    await sh('mkdir -p full/of; ln -sfn loop loop')
    const cases: readonly (readonly [Promise<Response>, number, string, string])[] = [
      [get('missing'), 404, 'file_not_found', 'ENOENT'],
      [get('sub'), 422, 'file_operation_failed', 'EISDIR'],
      [get('/dev/zero'), 422, 'file_operation_failed', 'EINVAL'],
      [get('there/below'), 422, 'file_operation_failed', 'ENOTDIR'],
      [get('loop'), 422, 'file_operation_failed', 'ELOOP'],
      [get('/workspace/'.padEnd(4000, 'x')), 422, 'file_operation_failed', 'ENAMETOOLONG'],
      [put('full', 'x'), 422, 'file_operation_failed', 'EISDIR'],
      [put('there', 'x', { exclusive: 'true' }), 409, 'file_exists', 'EEXIST'],
      [put('no/such', 'x', { parents: 'false' }), 404, 'file_not_found', 'ENOENT'],
      [put('/etc/passwd', 'x'), 403, 'file_forbidden', 'EROFS'],
      [remove('full'), 422, 'file_operation_failed', 'ENOTEMPTY'],
      [remove('missing'), 404, 'file_not_found', 'ENOENT'],
      [post('move', { from: 'there', to: 'full/of', exclusive: true }), 409, 'file_exists', 'EEXIST'],
      [post('directories', { path: 'full' }), 409, 'file_exists', 'EEXIST'],
      [real.request(at('there', {}, '/list'), { key: ada }), 422, 'file_operation_failed', 'ENOTDIR'],
      [real.request(at('missing', {}, '/watch'), { key: ada, headers: { accept: 'text/event-stream' } }), 404, 'file_not_found', 'ENOENT'],
      [real.request(at('missing', {}, '/archive'), { key: ada }), 404, 'file_not_found', 'ENOENT'],
    ]
    for (const [asked, status, code, errno] of cases) {
      const answer = await told(await asked)
      expect(answer, `${code} ${errno}`).toMatchObject({ status, body: { code, details: { errno } } })
    }
    expect(await sh('cat there')).toBe('x')
  })

  test('a disk that is full is 507, and the file that was there stays', async () => {
    await sh('printf old > /tmp/kept')
    // Little more than fits: a client that cannot send the rest in time loses the answer.
    const whole = await told(await put('/tmp/kept', new Uint8Array(80 * 1024 * 1024)))
    expect(whole).toMatchObject({ status: 507, body: { code: 'no_space', details: { errno: 'ENOSPC' } } })
    expect(await sh('cat /tmp/kept; ls /tmp')).toBe('oldkept\n')
  })

  test('bad input is refused by its name before anything happens', async () => {
    const cases: readonly (readonly [string, Asking, RegExp])[] = [
      [`/v1/sessions/${session}/files`, {}, /^path: must be a path/],
      [at(''), {}, /^path: must not be empty/],
      [at('a\0b'), {}, /^path: must not contain a NUL/],
      [at('ж'.repeat(2049)), {}, /^path: must be at most 4096 bytes/],
      [at('x', { follow: 'yes' }, '/stat'), {}, /^follow: must be true or false/],
      [at('x', { mode: '9999' }), { method: 'PUT', body: 'x' }, /^mode: must be permission bits/],
      [at('x', { limit: '10001' }, '/list'), {}, /^limit: must be a whole number/],
      [at('x', { colour: 'red' }), {}, /^colour: is not a known field/],
      [at('x'), { method: 'PUT', body: 'x', headers: { 'idempotency-key': 'k' } }, /^Idempotency-Key: a body of bytes/],
      [at('x'), { method: 'PUT', body: 'x', headers: { 'if-match': '"1"' } }, /^If-Match: is not looked at here/],
      [at('x'), { method: 'PUT', body: 'x', headers: { 'content-range': 'bytes 0-0/2' } }, /^Content-Range: a part of a file/],
      [at('.', {}, '/watch'), {}, /^Accept: must name text\/event-stream/],
      [at('x', {}, '/archive'), { method: 'PUT', body: '' }, /^the body is empty/],
    ]
    for (const [path, init, title] of cases)
      expect(await told(await real.request(path, { ...init, key: ada })), path).toMatchObject({
        status: 400,
        body: { code: 'invalid_request', title: expect.stringMatching(title) },
      })
    expect(await told(await stat('x'))).toMatchObject({ status: 404 })
  })

  test('appending adds, writing keeps the mode of what it replaces, and goes through links', async () => {
    await put('log', 'one\n', { mode: '0600' })
    await put('log', 'two\n', { append: 'true' })
    expect(await (await get('log')).text()).toBe('one\ntwo\n')
    await sh('ln -sfn log link')
    expect(await told(await put('link', 'new'))).toMatchObject({ body: { type: 'file', mode: '0600', size: 3 } })
    expect(await sh('readlink link; cat log')).toBe('log\nnew')
  })

  test('directories are made, listed to a depth and a limit, moved and removed', async () => {
    expect(await told(await post('directories', { path: 'tree/a/b', parents: true, mode: '0700' }))).toMatchObject({
      status: 201,
      body: { path: '/workspace/tree/a/b', type: 'directory', mode: '0700' },
    })
    await sh('touch tree/1 tree/a/2 tree/a/b/3; ln -s /etc tree/etc')
    const list = async (query: Readonly<Record<string, string>>) => {
      const { body } = await told(await real.request(at('tree', query, '/list'), { key: ada }))
      return {
        paths: (body['items'] as { path: string }[]).map(({ path }) => path.slice('/workspace/tree/'.length)).toSorted(),
        cut: body['truncated'],
      }
    }
    expect(await list({})).toEqual({ paths: ['1', 'a', 'etc'], cut: false })
    expect(await list({ depth: '3' })).toEqual({ paths: ['1', 'a', 'a/2', 'a/b', 'a/b/3', 'etc'], cut: false })
    expect(await list({ depth: '3', limit: '2' })).toMatchObject({ cut: true, paths: [expect.anything(), expect.anything()] })
    expect(await told(await post('move', { from: 'tree/a', to: 'deep/er/a', parents: true }))).toMatchObject({
      status: 200,
      body: { path: '/workspace/deep/er/a', type: 'directory' },
    })
    expect((await remove('tree', { recursive: 'true' })).status).toBe(204)
    expect(await sh('ls -d /etc; find deep -type f | sort')).toBe('/etc\ndeep/er/a/2\ndeep/er/a/b/3\n')
  })

  test('what the kernel makes up as it is read is read, though it says that it is empty', async () => {
    const read = await get('/proc/self/status')
    const text = await read.text()
    expect(text).toContain('Name:')
    expect(read.headers.get('content-length')).toBe(`${text.length}`)
    await put('empty', '')
    const empty = await get('empty')
    expect([empty.status, empty.headers.get('content-length'), await empty.text()]).toEqual([200, '0', ''])
  })

  test('HEAD has the headers and no body', async () => {
    await sh('truncate -s 10G headed')
    const head = await real.request(at('headed'), { method: 'HEAD', key: ada, headers: { range: 'bytes=0-1' } })
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, `${10 * 1024 ** 3}`, ''])
    const first = await get('headed', { range: 'bytes=0-0' })
    expect([first.status, head.headers.get('etag')]).toEqual([206, first.headers.get('etag')])
    expect((await real.request(at('missing'), { method: 'HEAD', key: ada })).status).toBe(404)
    // Nothing that was opened for it is left inside.
    await expect.poll(() => sh('cat /proc/[0-9]*/cmdline | tr "\\0" " "')).not.toContain('/workspace/headed')
    await sh('rm headed')
  })

  test('a suspended session is resumed for its files', async () => {
    await put('kept', 'still here')
    expect((await real.request(`/v1/sessions/${session}/suspend`, { method: 'POST', key: ada })).status).toBe(200)
    expect(await (await get('kept')).text()).toBe('still here')
    const { body } = await told(await real.request(`/v1/sessions/${session}`, { key: ada }))
    expect(['idle', 'active']).toContain(body['state'])
  })

  test('working with files counts as activity', async () => {
    const before = await told(await real.request(`/v1/sessions/${session}`, { key: ada }))
    await put('active', 'x')
    await real.server.plane.sessions.sweep()
    const after = await told(await real.request(`/v1/sessions/${session}`, { key: ada }))
    expect(String(after.body['activity_at'])).not.toBe(String(before.body['activity_at']))
  })

  test('to a stranger the session does not exist, and a viewer is refused', async () => {
    const [stranger, viewer] = [await real.keyOf({ subject: 'ben' }), await real.keyOf({ subject: 'vera', role: 'viewer' })]
    for (const [path, init] of [
      [at('active'), {}],
      [at('active'), { method: 'PUT', body: 'y' }],
      [at('active', {}, '/stat'), {}],
      [at('.', {}, '/archive'), {}],
      [at('.', {}, '/watch'), { headers: { accept: 'text/event-stream' } }],
    ] as const) {
      expect(await told(await real.request(path, { ...init, key: stranger }))).toMatchObject({ status: 404, body: { code: 'not_found' } })
      expect(await told(await real.request(path, { ...init, key: viewer }))).toMatchObject({ status: 403, body: { code: 'forbidden' } })
    }
    expect(await sh('cat active')).toBe('x')
  })

  test('packed neighbours each have their own workspace, and cannot read, write or archive one another’s', async ({ skip }) => {
    const { capabilities } = real.server.chosen
    if (!capabilities.packing) skip(capabilities.reasons.packing ?? 'it cannot pack')
    const tenant = await real.tenantWith({ packing: { profiles: ['small'] } })
    const key = await real.keyOf({ subject: 'pam' }, tenant)
    const [one, two] = [await real.session('one', { pack: 'small' }, key), await real.session('two', { pack: 'small' }, key)]
    const sandboxOf = async (id: string) => (await told(await real.request(`/v1/sessions/${id}`, { key }))).body['sandbox_id']
    expect(await sandboxOf(one)).toBe(await sandboxOf(two))

    const written = await told(await real.request(at('note', {}, '', one), { method: 'PUT', body: 'mine', key }))
    expect(written).toMatchObject({ status: 200, body: { path: `/sessions/${one}/workspace/note` } })
    expect(await real.sh(one, 'cat note; stat -c %u note; id -u', key)).toMatch(/^mine(\d+)\n\1\n$/)
    const path = String(written.body['path'])
    const attempts: readonly (readonly [string, Asking])[] = [
      [at(path, {}, '', two), {}],
      [at(path, {}, '', two), { method: 'PUT', body: 'yours' }],
      [at(`../../${one}/workspace/note`, {}, '', two), {}],
      [at(path, {}, '', two), { method: 'DELETE' }],
      [at(path, {}, '/stat', two), {}],
      [at(`/sessions/${one}/workspace`, {}, '/list', two), {}],
      [at(`/sessions/${one}/workspace`, {}, '/archive', two), {}],
      [at('/sessions', {}, '/list', two), {}],
    ]
    for (const [target, init] of attempts)
      expect(await told(await real.request(target, { ...init, key })), target).toMatchObject({
        status: 403,
        body: { code: 'file_forbidden' },
      })
    const archive = await real.request(at('.', {}, '/archive', one), { key })
    const unpacked = await real.request(at('copy', {}, '/archive', two), { method: 'PUT', body: await archive.arrayBuffer(), key })
    expect(await told(unpacked)).toMatchObject({ status: 200, body: { path: `/sessions/${two}/workspace/copy` } })
    expect(await real.sh(two, 'cat copy/note; [ "$(stat -c %u copy/note)" = "$(id -u)" ] && echo own', key)).toBe('mineown\n')
  })
})
