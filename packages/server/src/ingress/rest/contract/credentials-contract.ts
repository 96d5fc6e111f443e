/**
 * What credentials of sessions promise over REST, on any store: lent by name, shown without values, removed from what received them.
 */
import { rmSync } from 'node:fs'
import { MAXIMUM_CREDENTIAL_BYTES, MAXIMUM_CREDENTIALS } from '@holdfast/protocol'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Store } from '../../../store/store.ts'
import { openLaboratory } from './laboratory.ts'
import type { Laboratory } from './laboratory.ts'

export function credentialsContract(name: string, openStore?: () => Promise<Store>): void {
  describe(`credentials on ${name}`, () => {
    let laboratory: Laboratory
    let ada: string
    let session = ''
    let count = 0
    beforeAll(async () => {
      laboratory = await openLaboratory({}, openStore)
      ada = await laboratory.keyOf({ subject: 'ada' })
    })
    beforeEach(async () => {
      count += 1
      session = (await laboratory.post('/v1/sessions', { key: `work-${count}`, wait_ms: 9000 }, { key: ada })).field('id')
    })
    // The guests of these tests have the shared memory of the host.
    afterEach(() => rmSync(`/dev/shm/holdfast-${session}`, { recursive: true, force: true }))
    afterAll(() => laboratory.close())

    const path = (credential = '') => `/v1/sessions/${session}/credentials${credential === '' ? '' : `/${credential}`}`
    const put = (credential: string, body: object, key = ada) => laboratory.send(path(credential), { method: 'PUT', body, key })
    const list = async () => (await laboratory.send(path(), { key: ada })).body['items']
    const remove = (credential: string, query = '', key = ada) => laboratory.send(`${path(credential)}${query}`, { method: 'DELETE', key })
    const sh = async (command: string, more: object = {}) =>
      (await laboratory.post('/v1/exec', { session_id: session, command, cwd: '/', ...more }, { key: ada })).field('stdout')
    const start = async (command: string) =>
      (await laboratory.post(`/v1/sessions/${session}/executions`, { command, cwd: '/' }, { key: ada })).field('execution_id')
    const statusOf = async (id: string) => (await laboratory.send(`/v1/sessions/${session}/executions/${id}`, { key: ada })).field('status')
    const eventsOf = async () =>
      (
        (await laboratory.send(`/v1/sessions/${session}/events?page_size=200`, { key: ada })).body['items'] as {
          type: string
          data: object
        }[]
      ).filter(({ type }) => type.startsWith('credential.'))

    test('an execution receives them as a variable and as a file of mode 0600, whose path the variable holds', async () => {
      expect(await put('TOKEN', { value: 'one-secret' })).toMatchObject({
        status: 201,
        body: { name: 'TOKEN', as: 'env', path: null, bytes: 10 },
      })
      const made = await put('CERT', { value: 'line\nline\n', as: 'file' })
      expect(made).toMatchObject({ status: 201, body: { as: 'file', path: `/dev/shm/holdfast-${session}/CERT`, removing: false } })
      expect(await sh('echo "$TOKEN"; stat -c "%a %F" "$CERT" "$(dirname "$CERT")"; cat "$CERT"; echo "$CERT"')).toBe(
        `one-secret\n600 regular file\n700 directory\nline\nline\n/dev/shm/holdfast-${session}/CERT\n`,
      )
      expect(await sh('echo "$TOKEN"', { env: { TOKEN: 'of the request' } })).toBe('of the request\n')
    })

    test('the next execution has a replaced value, and one that runs keeps what it has', async () => {
      await put('TOKEN', { value: 'first' })
      const running = await start('while ! [ -e /tmp/go-' + session + ' ]; do sleep 0.05; done; echo "$TOKEN"')
      expect(await put('TOKEN', { value: 'second', as: 'file' })).toMatchObject({ status: 200, body: { as: 'file' } })
      expect(await sh('cat "$TOKEN"')).toBe('second')
      await put('TOKEN', { value: 'third' })
      expect(await sh(`echo "$TOKEN"; touch /tmp/go-${session}`)).toBe('third\n')
      await expect.poll(() => statusOf(running)).toBe('completed')
      const { text } = await laboratory.send(`/v1/sessions/${session}/executions/${running}/output`, { key: ada })
      expect(text).toContain('first')
      rmSync(`/tmp/go-${session}`, { force: true })
    })

    test('removal ends what received it, background children included, and leaves the rest', async () => {
      const before = await start('sleep 600')
      await put('TOKEN', { value: 'secret' })
      await put('CERT', { value: 'secret', as: 'file' })
      const received = await start('sleep 600')
      const mark = `mark-${crypto.randomUUID()}`
      await sh(`setsid sh -c ': ${mark}; sleep 600; :' > /dev/null 2>&1 & exit 0`)
      const isLeft = async () => (await sh(`pgrep -f ${mark} | grep -v $$ | wc -l; true`)).trim()
      expect(await remove('CERT')).toMatchObject({ status: 200, body: { name: 'CERT', ended: [received], kept_running: [] } })
      expect(await statusOf(received)).toBe('cancelled')
      expect(await statusOf(before)).toBe('running')
      expect(await isLeft()).toBe('0')
      expect(await sh(`echo "[$CERT][$TOKEN]"; ls -A /dev/shm/holdfast-${session}`)).toBe('[][secret]\n')
      expect(await list()).toMatchObject([{ name: 'TOKEN' }])
    })

    test('keep_running leaves them running and answers their ids', async () => {
      await put('CERT', { value: 'secret', as: 'file' })
      const received = await start('sleep 600')
      expect(await remove('CERT', '?keep_running=true')).toMatchObject({ status: 200, body: { ended: [], kept_running: [received] } })
      expect(await statusOf(received)).toBe('running')
      expect(await sh(`ls -A /dev/shm/holdfast-${session}; echo "[$CERT]"`)).toBe('[]\n')
    })

    test('nothing that the server shows or keeps contains a value; events and audit name it', async () => {
      const secret = `secret-${crypto.randomUUID()}`
      await put('TOKEN', { value: secret })
      await put('TOKEN', { value: `${secret}-again`, as: 'file' })
      await sh('true')
      await laboratory.send(`/v1/sessions/${session}/processes`, {
        method: 'POST',
        body: { name: 'p', command: 'sleep 600', cwd: '/' },
        key: ada,
      })
      await remove('TOKEN')
      expect((await eventsOf()).map(({ type, data }) => [type, data])).toEqual([
        ['credential.created', { name: 'TOKEN', as: 'env' }],
        ['credential.replaced', { name: 'TOKEN', as: 'file' }],
        ['credential.removing', { name: 'TOKEN' }],
        ['credential.removed', { name: 'TOKEN' }],
      ])
      const audit = (await laboratory.send(`/v1/audit?session=${session}&page_size=200`)).body['items'] as {
        action: string
        actor: { subject: string }
        credentials?: string[]
      }[]
      const named = audit.filter(({ credentials }) => credentials !== undefined)
      expect(new Set(named.flatMap(({ credentials }) => credentials))).toEqual(new Set(['TOKEN']))
      expect(new Set(named.map(({ action, actor }) => `${action} ${actor.subject}`))).toEqual(
        new Set(['credential.put ada', 'credential.remove ada', 'credential.removed system']),
      )
      const shown = [
        ...['', '/credentials', '/events?page_size=200', '/executions', '/processes'].map((part) => `/v1/sessions/${session}${part}`),
        ...['/v1/audit?page_size=200', '/v1/sessions', '/v1/sandboxes'],
      ]
      for (const address of shown) expect((await laboratory.send(address)).text, address).not.toContain(secret)
    })

    test('names, sizes and numbers are bounded, and a refusal names the field and never the value', async () => {
      for (const bad of ['1A', 'A-B', 'A.B', 'Ä'])
        expect(await put(encodeURIComponent(bad), { value: 'x' })).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
      const secret = 'hidden-value'
      const wrong = [
        { value: '' },
        { value: `${secret}${'x'.repeat(MAXIMUM_CREDENTIAL_BYTES)}` },
        { value: `${secret}\0` },
        { value: secret, as: 'stdin' },
        { value: secret, to: 'x' },
        { as: 'env' },
      ]
      for (const body of wrong) {
        const answer = await put('A', body)
        expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
        expect(answer.text).not.toContain(secret)
      }
      const half = await laboratory.send(path('A'), { method: 'PUT', body: `{"value": "${secret}`, key: ada })
      expect(half.status).toBe(400)
      expect(half.text).not.toContain(secret)
      expect(await put('A', { value: 'x\0y', as: 'file' })).toMatchObject({ status: 201 })
      for (let index = 1; index < MAXIMUM_CREDENTIALS; index += 1) await put(`N_${index}`, { value: 'x' })
      expect(await put('ONE_MORE', { value: 'x' })).toMatchObject({ status: 429, body: { details: { quota: 'credentials_per_session' } } })
      expect(await put('N_1', { value: 'replaced' })).toMatchObject({ status: 200 })
    })

    test('variables together stay below what a program can be started with', async () => {
      const value = 'x'.repeat(MAXIMUM_CREDENTIAL_BYTES)
      for (let index = 0; index < 8; index += 1) expect(await put(`N_${index}`, { value })).toMatchObject({ status: 201 })
      expect(await put('ONE_MORE', { value })).toMatchObject({ status: 429, body: { details: { quota: 'credential_env_bytes' } } })
      expect(await put('ONE_MORE', { value, as: 'file' })).toMatchObject({ status: 201 })
      expect(await sh('echo "${#N_7}"; wc -c < "$ONE_MORE"')).toBe(`${MAXIMUM_CREDENTIAL_BYTES}\n${MAXIMUM_CREDENTIAL_BYTES}\n`)
    })

    test('a suspension ends what received one and removes it, unless it is asked to stay', async () => {
      await put('GOES', { value: 'secret' })
      await put('STAYS', { value: 'kept', on_suspend: 'keep' })
      const received = await start('sleep 600')
      const suspend = (body: object) => laboratory.post(`/v1/sessions/${session}/suspend`, body, { key: ada })
      expect(await suspend({ keep_running: true })).toMatchObject({
        status: 409,
        body: { code: 'session_busy', details: { executions: [received] } },
      })
      expect(await list()).toHaveLength(2)
      expect(await suspend({})).toMatchObject({ status: 200, body: { state: 'suspended' } })
      expect(await statusOf(received)).toBe('cancelled')
      expect(await list()).toMatchObject([{ name: 'STAYS' }])
      await put('TOO', { value: 'kept too' })
      expect(await sh('echo "[$GOES][$STAYS][$TOO]"')).toBe('[][kept][kept too]\n')
      await expect.poll(async () => (await suspend({ keep_credentials: true })).status).toBe(200)
      expect(await list()).toMatchObject([{ name: 'STAYS' }, { name: 'TOO' }])
    })

    test('a suspension that other work is in the way of removes nothing', async () => {
      const before = await start('sleep 600')
      await put('TOKEN', { value: 'secret' })
      const received = await start('sleep 600')
      expect(await laboratory.post(`/v1/sessions/${session}/suspend`, {}, { key: ada })).toMatchObject({ status: 409 })
      expect([await statusOf(before), await statusOf(received)]).toEqual(['running', 'running'])
      expect(await list()).toMatchObject([{ name: 'TOKEN', removing: false }])
    })

    test.each([true, false])('a transfer leaves the credentials behind (keep_running: %s)', async (keep) => {
      await put('TOKEN', { value: 'secret', as: 'file' })
      const received = await start('sleep 600')
      const version = Number((await laboratory.send(`/v1/sessions/${session}`)).field('version'))
      const give = (owner: string, ifMatch: number) =>
        laboratory.post(`/v1/sessions/${session}/transfer`, { owner, keep_running: keep }, { headers: { 'if-match': `"${ifMatch}"` } })
      expect(await give('zoe', version - 1)).toMatchObject({ status: 409, body: { code: 'version_conflict' } })
      expect(await list()).toHaveLength(1)
      const given = await give('zoe', version)
      expect(given).toMatchObject({ status: 200, body: { owner: 'zoe' } })
      expect(given.body['kept_running']).toEqual(keep ? [received] : undefined)
      const zoe = await laboratory.keyOf({ subject: 'zoe' })
      const seen = await laboratory.send(`/v1/sessions/${session}/executions/${received}`, { key: zoe })
      expect(seen.field('status')).toBe(keep ? 'running' : 'cancelled')
      expect((await laboratory.send(path(), { key: zoe })).body).toEqual({ items: [] })
      const ran = await laboratory.post(
        '/v1/exec',
        { session_id: session, command: `echo "[$TOKEN]"; ls -A /dev/shm/holdfast-${session}`, cwd: '/' },
        { key: zoe },
      )
      expect(ran.field('stdout')).toBe('[]\n')
    })

    test.each(['cancel', 'release'] as const)('after a %s no value is stored and no file is left', async (end) => {
      await put('TOKEN', { value: 'secret', as: 'file' })
      const received = await start('sleep 600')
      await laboratory.post(`/v1/sessions/${session}/${end}`, end === 'release' ? { if_busy: 'kill' } : {}, { key: ada })
      await expect
        .poll(async () => (await laboratory.send(`/v1/sessions/${session}`, { key: ada })).field('state'))
        .toMatch(/^(cancell|releas)ed$/)
      expect(await statusOf(received)).toBe('cancelled')
      expect(await list()).toEqual([])
      expect((await eventsOf()).at(-1)).toMatchObject({ type: 'credential.removed', data: { name: 'TOKEN' } })
      expect(await put('TOKEN', { value: 'x' })).toMatchObject({ status: 409, body: { code: 'session_closed' } })
      expect(await remove('TOKEN')).toMatchObject({ status: 409, body: { code: 'session_closed' } })
    })

    test('who may not work in a session cannot lend to it, and who may end its work can remove', async () => {
      await put('TOKEN', { value: 'secret' })
      const viewer = await laboratory.keyOf({ subject: 'vic', role: 'viewer' })
      const operator = await laboratory.keyOf({ subject: 'olga', role: 'operator' })
      const stranger = await laboratory.keyOf({ subject: 'sid' })
      expect(await put('TOKEN', { value: 'x' }, viewer)).toMatchObject({ status: 403 })
      expect(await put('TOKEN', { value: 'x' }, operator)).toMatchObject({ status: 403 })
      expect(await put('TOKEN', { value: 'x' }, stranger)).toMatchObject({ status: 404 })
      expect((await laboratory.send(path(), { key: stranger })).status).toBe(404)
      expect((await laboratory.send(path(), { key: viewer })).body).toMatchObject({ items: [{ name: 'TOKEN' }] })
      expect(await remove('TOKEN', '', viewer)).toMatchObject({ status: 403 })
      expect(await remove('TOKEN', '', operator)).toMatchObject({ status: 200 })
      expect(await remove('TOKEN')).toMatchObject({ status: 404 })
    })
  })
}
