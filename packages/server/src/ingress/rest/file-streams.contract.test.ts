/** Bytes in and out of a sandbox over real HTTP: exact, at the slower one's pace, whole or not at all. */
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { because } from '../../../../../test/environment/backends.ts'
import { eventually } from '../../../../../test/servers/eventually.ts'
import { openHome } from '../../home/home.ts'
import { bubblewrapUnderTest, openRealServer } from './contract/real-server.ts'
import type { RealServer } from './contract/real-server.ts'

const under = await bubblewrapUnderTest()
const MEBIBYTE = 1024 * 1024
const BIG_BYTES = 64 * MEBIBYTE
/** Pipes, sockets and windows between a program and a client, all together; far below what is sent. */
const IN_FLIGHT_BYTES = 16 * MEBIBYTE

describe.skipIf(under.skipReason !== null)(`streams of files${because(under)}`, () => {
  let real: RealServer
  let session: string
  beforeAll(async () => {
    real = await openRealServer()
    session = await real.session('work')
  })
  afterAll(() => real.close())

  const at = (path: string, query: Readonly<Record<string, string>> = {}, route = '') =>
    `/v1/sessions/${session}/files${route}?${new URLSearchParams({ path, ...query }).toString()}`
  const sh = (command: string) => real.sh(session, command)
  const get = (path: string, headers: Record<string, string> = {}) => real.request(at(path), { headers })
  /** A request whose body the test writes itself. */
  const open = (method: string, path: string, headers: Record<string, string> = {}) =>
    httpRequest(`${real.server.url}${path}`, { method, agent: false, headers: { authorization: `Bearer ${real.adminKey}`, ...headers } })
  /** Programs inside that work for the server. */
  const applets = async (name: string) => {
    const lines = (await sh('for p in /proc/[0-9]*; do tr "\\0" " " < $p/cmdline; echo; done')).split('\n')
    return lines.filter((line) => line.startsWith(`${name} `) || line.includes(`/holdfast-guest ${name} `) || line.includes(` ${name} /`))
  }
  const piecesOf = async function* (bytes: number, onAsked: (bytes: number) => void, hash = createHash('sha256')) {
    for (let sent = 0; sent < bytes; sent += MEBIBYTE) {
      const piece = randomBytes(MEBIBYTE)
      hash.update(piece)
      onAsked(MEBIBYTE)
      yield piece
    }
  }
  const upload = (path: string, body: AsyncIterable<Uint8Array>, query = {}) =>
    real.request(at(path, query), { method: 'PUT', body: ReadableStream.from(body), duplex: 'half' })

  test('64 MiB of random bytes come back as they went in', async () => {
    const sent = createHash('sha256')
    const written = await upload(
      'big',
      piecesOf(BIG_BYTES, () => undefined, sent),
    )
    expect(await written.json()).toMatchObject({ size: BIG_BYTES })
    const digest = sent.digest('hex')
    expect(await sh('sha256sum < big')).toBe(`${digest}  -\n`)
    const received = createHash('sha256')
    for await (const piece of (await get('big')).body ?? []) received.update(piece)
    expect(received.digest('hex')).toBe(digest)
  })

  test('an upload is taken at the pace of the program that takes it', async () => {
    await sh('mkfifo pipe')
    let asked = 0
    const sent = createHash('sha256')
    const uploading = upload(
      'pipe',
      piecesOf(BIG_BYTES, (bytes) => (asked += bytes), sent),
      { append: 'true' },
    )
    await eventually(() => asked).toBeGreaterThan(0)
    // A whole other upload of the same size passes by, so there was time to run ahead.
    await (
      await upload(
        'other',
        piecesOf(BIG_BYTES, () => undefined),
      )
    ).json()
    expect(asked).toBeLessThan(IN_FLIGHT_BYTES)
    const digest = await sh('sha256sum < pipe')
    expect((await uploading).status).toBe(200)
    expect(digest).toBe(`${sent.digest('hex')}  -\n`)
  })

  test('a download is read at the pace of its reader', async () => {
    await sh('head -c 67108864 /dev/urandom > slow')
    const request = open('GET', at('slow'))
    request.end()
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    response.pause()
    await (await get('slow')).arrayBuffer()
    const pos = await sh(
      `grep -h '^pos' $(grep -lz 'slow' /proc/[0-9]*/cmdline | sed 's/cmdline$/fdinfo\\/*/' ) 2>/dev/null | sort -k2 -n | tail -1`,
    )
    const read = Number(/pos:\s*(\d+)/.exec(pos)?.[1])
    expect(read).toBeGreaterThan(0)
    expect(read).toBeLessThan(IN_FLIGHT_BYTES)
    let received = 0
    for await (const piece of response) received += (piece as Buffer).length
    expect(received).toBe(BIG_BYTES)
  })

  test('a reader who leaves ends the program that read for it', async () => {
    await sh('truncate -s 10G endless')
    const leaving = new AbortController()
    const response = await real.request(at('endless'), { signal: leaving.signal })
    const reader = response.body?.getReader()
    await reader?.read()
    await eventually(() => applets('read')).toHaveLength(1)
    leaving.abort()
    await eventually(() => applets('read')).toEqual([])
    expect(real.server.plane.sessions.attended).toBe(0)
  })

  test.each([
    ['with a length', { 'content-length': `${BIG_BYTES}` }],
    ['in chunks', { 'transfer-encoding': 'chunked' }],
  ])('an upload that breaks off, %s, leaves nothing, and what was there stays', async (_how, headers) => {
    await sh('mkdir -p calm; printf old > calm/kept')
    for (const name of ['calm/kept', 'calm/new']) {
      const request = open('PUT', at(name), headers)
      request.on('error', () => undefined)
      for (let sent = 0; sent < 8; sent += 1) if (!request.write(randomBytes(MEBIBYTE))) await once(request, 'drain')
      await eventually(() => sh('ls calm')).toContain('holdfast')
      request.destroy()
      await eventually(() => sh('ls -A calm; cat calm/kept')).toBe('kept\nold')
    }
    expect(real.server.plane.sessions.attended).toBe(0)
    expect(real.logged.join('')).not.toContain('request-failed')
  })

  test('a refusal is told before anything is sent', async () => {
    const request = open('PUT', at('/etc/refused'), { 'content-length': `${BIG_BYTES}` })
    request.on('error', () => undefined)
    const answered = once(request, 'response') as Promise<[IncomingMessage]>
    // It waits for the answer before it sends anything.
    request.flushHeaders()
    const [response] = await answered
    expect(response.statusCode).toBe(403)
    const pieces: Buffer[] = []
    for await (const piece of response) pieces.push(piece as Buffer)
    expect(JSON.parse(Buffer.concat(pieces).toString())).toMatchObject({ code: 'file_forbidden' })
    request.destroy()
  })

  test('a file that shrinks while it is read cuts the connection; one that grows is cut at its length', async () => {
    await sh('head -c 33554432 /dev/zero > moving')
    const { plane } = real.server
    const target = { caller: await plane.callerOf(real.admin), sessionId: session, signal: new AbortController().signal }
    const shrinking = await get('moving')
    const { content } = await plane.sessions.files.read(target, 'moving', ({ size }) => ({ offset: 0, length: size }))
    expect(shrinking.headers.get('content-length')).toBe('33554432')
    await sh('truncate -s 1M moving')
    await expect(shrinking.arrayBuffer()).rejects.toThrow('terminated')
    // The connection would be closed some time later in any case; that it fails here is what cuts it.
    await expect(content?.toArray()).rejects.toMatchObject({ code: 'file_operation_failed', details: { errno: 'EIO' } })
    await sh('head -c 33554432 /dev/zero > moving')
    const growing = await get('moving')
    await sh('head -c 1048576 /dev/zero >> moving')
    expect((await growing.arrayBuffer()).byteLength).toBe(33_554_432)
  })

  describe('ranges', () => {
    const TEXT = '0123456789'
    const range = async (value: string, headers: Record<string, string> = {}) => {
      const response = await get('digits', { range: value, ...headers })
      return [response.status, response.headers.get('content-range'), response.headers.get('content-length'), await response.text()]
    }
    beforeAll(async () => {
      await sh(`printf ${TEXT} > digits; touch -d '2001-02-03 04:05:06 UTC' digits; : > none`)
    })

    test.each([
      ['bytes=0-0', 'bytes 0-0/10', '0'],
      ['bytes=3-5', 'bytes 3-5/10', '345'],
      ['bytes=9-', 'bytes 9-9/10', '9'],
      ['bytes=4-400', 'bytes 4-9/10', '456789'],
      ['bytes=-3', 'bytes 7-9/10', '789'],
      ['bytes=-300', 'bytes 0-9/10', TEXT],
    ])('%s is that part', async (asked, contentRange, text) => {
      expect(await range(asked)).toEqual([206, contentRange, `${text.length}`, text])
    })

    test.each(['bytes=0-1,3-4', 'bytes=5-3', 'lines=0-1', 'bytes=', 'bytes=a-b', 'bytes=-'])('%s is the whole', async (asked) => {
      expect(await range(asked)).toEqual([200, null, '10', TEXT])
    })

    test.each(['bytes=10-', 'bytes=100-200', 'bytes=-0'])('%s is none of it', async (asked) => {
      const [status, contentRange, , text] = await range(asked)
      expect([status, contentRange]).toEqual([416, 'bytes */10'])
      expect(JSON.parse(String(text))).toMatchObject({ code: 'range_not_satisfiable', details: { size: 10 } })
    })

    test('of an empty file there is no part', async () => {
      expect((await get('none', { range: 'bytes=0-' })).status).toBe(416)
      expect((await get('none', { range: 'bytes=-1' })).status).toBe(200)
    })

    test('a range counts only for the file that the client knows', async () => {
      const whole = await get('digits')
      const [etag, modified] = [whole.headers.get('etag') ?? '', whole.headers.get('last-modified') ?? '']
      expect(modified).toBe('Sat, 03 Feb 2001 04:05:06 GMT')
      expect((await range('bytes=0-0', { 'if-range': modified }))[0]).toBe(206)
      expect((await range('bytes=0-0', { 'if-range': 'Sat, 03 Feb 2001 04:05:07 GMT' }))[0]).toBe(200)
      // A weak tag cannot vouch for single bytes.
      expect((await range('bytes=0-0', { 'if-range': etag }))[0]).toBe(200)
    })

    test('what the client has is not sent again, until it changes', async () => {
      const etag = (await get('digits')).headers.get('etag') ?? ''
      const same = await get('digits', { 'if-none-match': `"x", ${etag}`, range: 'bytes=0-0' })
      expect([same.status, same.headers.get('etag'), await same.text()]).toEqual([304, etag, ''])
      await sh("printf x >> digits; touch -d '2001-02-03 04:05:06 UTC' digits")
      expect((await get('digits', { 'if-none-match': etag })).status).toBe(200)
    })
  })

  test('a server that stops ends what does not go on, and nothing half done stays', async () => {
    const stopping = await openRealServer()
    const id = await stopping.session('work')
    await stopping.sh(id, 'mkdir calm')
    const authorization = `Bearer ${stopping.adminKey}`
    const request = httpRequest(`${stopping.server.url}/v1/sessions/${id}/files?path=calm/half`, {
      ...{ method: 'PUT', agent: false, headers: { authorization, 'transfer-encoding': 'chunked' } },
    })
    request.write(randomBytes(MEBIBYTE))
    await eventually(() => stopping.sh(id, 'ls calm')).toContain('holdfast')
    await stopping.sh(id, 'mkdir large; head -c 67108864 /dev/zero > large/unread')
    const unread = await Promise.all([
      stopping.request(`/v1/sessions/${id}/files?path=large/unread`),
      stopping.request(`/v1/sessions/${id}/files/archive?path=large`),
    ])
    // Meanwhile those have come to a stand.
    await (await stopping.request(`/v1/sessions/${id}/files?path=large/unread`)).arrayBuffer()
    const answered = once(request, 'response') as Promise<[IncomingMessage]>
    const { workspacesDir } = openHome(stopping.home)
    await stopping.server.plane.close(0)
    expect((await answered)[0].statusCode).toBe(503)
    request.destroy()
    for (const response of unread) await expect(response.arrayBuffer()).rejects.toThrow('terminated')
    expect(readdirSync(join(workspacesDir, id), { recursive: true }).filter((name) => String(name).includes('half'))).toEqual([])
    await stopping.close()
  })
})
