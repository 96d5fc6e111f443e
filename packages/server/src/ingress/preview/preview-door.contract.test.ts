/** Web apps inside real sandboxes, reached from outside: by programs below `/preview/`, and by browsers through links. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { backendsAbovePort, because } from '../../../../../test/environment/backends.ts'
import { openRealServer } from '../rest/contract/real-server.ts'
import type { RealServer } from '../rest/contract/real-server.ts'
import { ask, linkTo, open, openSocket, startApp } from './contract/inner-app.ts'

const PORT = 3000

for (const under of await backendsAbovePort())
  describe.skipIf(under.skipReason !== null)(`apps inside on ${under.kind}${because(under)}`, () => {
    let real: RealServer
    let id = ''
    let link = ''
    const keys = { ada: '', ben: '', stranger: '' }
    beforeAll(async () => {
      const { dockerSocket, image } = under.settings
      real = await openRealServer({
        HOLDFAST_NETWORK: 'off',
        HOLDFAST_BACKEND: under.kind,
        ...(dockerSocket === undefined ? {} : { HOLDFAST_DOCKER_HOST: `unix://${dockerSocket}` }),
        ...(image === undefined ? {} : { HOLDFAST_IMAGE: image }),
      })
      keys.ada = await real.keyOf({ subject: 'ada' })
      keys.ben = await real.keyOf({ subject: 'ben' })
      keys.stranger = await real.keyOf({ subject: 'ada', role: 'tenant_admin' }, await real.tenantWith({}))
      id = await real.session('app', {}, keys.ada)
      await startApp(real, id, PORT, keys.ada)
      link = (await linkTo(real, id, PORT, {}, keys.ada)).url
    })
    afterAll(() => real?.close())

    const bearer = (key = keys.ada) => ({ authorization: `Bearer ${key}` })
    const path = (rest = '', port: number | string = PORT) => `/preview/${id}/${port}${rest}`

    describe.each(['below /preview/', 'through a link'])('%s', (form) => {
      const isLink = form === 'through a link'
      const at = (rest: string) => (isLink ? `${link.slice(0, -1)}${rest}` : path(rest))
      const headers = (more: Record<string, string> = {}) => ({ ...(isLink ? {} : bearer()), ...more })
      const to = (rest: string, asking: Parameters<typeof ask>[2] = {}) =>
        ask(real, at(rest), { ...asking, headers: { ...headers(), ...asking.headers } })

      test('a request arrives as the app would be asked on its own machine, and its answer comes back', async () => {
        const { status, echo } = await to('/a%20b/../c?x=1&y=%2F')
        expect(status).toBe(200)
        expect(echo).toMatchObject({ method: 'GET', path: isLink ? '/c?x=1&y=%2F' : '/c?x=1&y=%2F', size: 0 })
        expect(echo.headers).toContainEqual(['host', `localhost:${PORT}`])
        expect((await to('')).echo.path).toBe('/')
      })

      test('bodies of a known length and of none arrive whole', async () => {
        const bytes = Buffer.alloc(3_000_000, 'holdfast')
        const sha256 = createHash('sha256').update(bytes).digest('hex')
        expect((await to('/', { method: 'POST', body: bytes })).echo).toMatchObject({ method: 'POST', size: bytes.length, sha256 })
        async function* pieces() {
          for (let place = 0; place < bytes.length; place += 100_000) yield bytes.subarray(place, place + 100_000)
        }
        expect((await to('/', { method: 'PUT', body: pieces() })).echo).toMatchObject({ method: 'PUT', size: bytes.length, sha256 })
        const inPieces = { method: 'GET', body: pieces(), headers: { 'transfer-encoding': 'chunked' } }
        expect((await to('/', inPieces)).echo).toMatchObject({ method: 'GET', size: bytes.length, sha256 })
        expect((await to('/', { method: 'POST' })).echo).toMatchObject({ method: 'POST', size: 0 })
      })

      test('an app may answer before it has read what it is sent', async () => {
        const told = await to('/refuse-unread', { method: 'POST', body: Buffer.alloc(5_000_000) })
        expect(told).toMatchObject({ status: 413, text: 'too much' })
      })

      test('a large answer comes whole, and HEAD has none', async () => {
        const response = await open(real, at('/download?50000000'), { headers: headers() })
        let size = 0
        for await (const piece of response) size += (piece as Buffer).length
        expect(size).toBe(50_000_000)
        expect(await to('/page', { method: 'HEAD' })).toMatchObject({ status: 200, text: '', headers: { 'content-length': '62' } })
      })

      test('events come while they happen', async () => {
        const events = isLink ? 'second' : 'first'
        const response = await open(real, at(`/events?${events}`), { headers: headers() })
        const pieces: AsyncIterator<Buffer> = response[Symbol.asyncIterator]()
        expect(String((await pieces.next()).value)).toContain('first')
        await to(`/note?${events}`)
        expect(String((await pieces.next()).value)).toContain('last')
      })

      test('a WebSocket speaks both ways, and the app is asked by the same name as over HTTP', async () => {
        const origin = new URL(at('/'), real.server.url).origin
        const { socket, headers: told } = await openSocket(real, at('/socket'), headers({ origin }))
        const page = (await to('/', { headers: { origin } })).echo.headers
        for (const seen of [told, page]) {
          expect(seen).toContainEqual(['host', `localhost:${PORT}`])
          expect(seen).toContainEqual(['origin', `http://localhost:${PORT}`])
        }
        const big = 'x'.repeat(200_000)
        socket.send(big)
        expect(String((await once(socket, 'message'))[0])).toBe(big)
        socket.close()
        await once(socket, 'close')
      })

      test('an app that wants no WebSocket says so itself', async () => {
        await expect(openSocket(real, at('/socket?refuse'), headers())).rejects.toThrow('403')
      })

      test('neither the key nor what is ours reaches the app, and nobody but the server says who was forwarded', async () => {
        const sent = {
          ...{ authorization: `Bearer ${keys.ada}`, 'x-api-key': keys.ada, 'x-holdfast-tenant': 'tnt_default', 'holdfast-session': 'x' },
          ...{ 'x-forwarded-for': '1.2.3.4', 'x-forwarded-host': 'evil', 'x-forwarded-prefix': '/evil', forwarded: 'for=1.2.3.4' },
          ...{ connection: 'keep-alive, x-hop', 'x-hop': 'one', 'x-kept': 'two' },
        }
        const seen = [(await ask(real, at('/'), { headers: sent })).echo.headers]
        const { socket, headers: told } = await openSocket(real, at('/socket'), { ...sent, connection: 'Upgrade' }, [
          `holdfast.key.${keys.ada}`,
          'mine',
        ])
        socket.terminate()
        seen.push(told)
        for (const inside of seen) {
          expect(JSON.stringify(inside)).not.toMatch(/hf_|holdfast|evil|1\.2\.3\.4|x-api-key|authorization/)
          expect(inside).toContainEqual(['x-forwarded-for', '127.0.0.1'])
          expect(inside).toContainEqual(['x-forwarded-proto', 'http'])
          expect(inside).toContainEqual(['x-kept', 'two'])
        }
        expect(seen[0]).not.toContainEqual(['x-hop', 'one'])
        expect(seen[1]).toContainEqual(['sec-websocket-protocol', 'mine'])
        expect(Object.fromEntries(seen[0] ?? [])['x-forwarded-prefix']).toBe(isLink ? undefined : path())
      })

      test('cookies and redirections fit the address that was asked', async () => {
        const prefix = isLink ? '' : path()
        const { headers: cookies } = await to('/cookies')
        expect(cookies['set-cookie']).toEqual(
          isLink ? ['a=1; Path=/; HttpOnly', 'b=2'] : [`a=1; HttpOnly; Path=${prefix}/`, `b=2; Path=${prefix}/`],
        )
        expect((await to('/to-itself')).headers.location).toBe(`${prefix}/there?x=1`)
        expect((await to('/to-root')).headers.location).toBe(`${prefix}/there`)
      })

      test.each(['/die-in-pieces', '/die-before-its-length'])('an answer that breaks off is cut off: %s', async (where) => {
        const response = await open(real, at(where), { headers: headers() })
        expect(response.statusCode).toBe(200)
        await expect(text(response)).rejects.toThrow('aborted')
      })

      test.each(['/die-at-once', '/nonsense', '/split-header', '/two-lengths', '/large-header', '/switch'])(
        'what is no answer of HTTP is none: %s',
        async (where) => {
          const { status, text: told, headers: answered } = await to(where)
          expect([status, JSON.parse(told)]).toMatchObject([502, { code: 'preview_failed', request_id: answered['x-request-id'] }])
          expect(told).not.toContain('evil')
        },
      )

      test('what an app says after its answer is said to nobody', async () => {
        expect(await to('/two-answers')).toMatchObject({ status: 200, text: 'hi' })
        expect((await to('/')).echo.path).toBe('/')
      })

      test('a client that leaves is gone for the app too', async () => {
        const name = (what: string) => `${what}-${isLink}`
        const leaving = new AbortController()
        const response = await open(real, at(`/stay?${name('stay')}`), { headers: headers(), signal: leaving.signal })
        await once(response, 'data')
        leaving.abort()
        await expect(text(response)).rejects.toThrow()
        expect(JSON.parse((await to(`/left?${name('stay')}`)).text)).toContain(name('stay'))
        const waiting = new AbortController()
        const unanswered = open(real, at(`/wait?${name('wait')}`), { headers: headers(), signal: waiting.signal })
        const { socket } = await openSocket(real, at(`/socket?${name('socket')}`), headers())
        const { socket: rude } = await openSocket(real, at(`/socket?${name('rude')}`), headers())
        waiting.abort()
        await expect(unanswered).rejects.toThrow()
        socket.terminate()
        ;(Reflect.get(rude, '_socket') as Socket).resetAndDestroy()
        expect(JSON.parse((await to(`/left?${name('rude')}`)).text)).toContain(name('rude'))
        expect(JSON.parse((await to(`/left?${name('socket')}`)).text)).toContain(name('socket'))
        expect(JSON.parse((await to(`/left?${name('wait')}`)).text)).toContain(name('wait'))
      })

      test.each(['content-length: 1000', 'transfer-encoding: chunked'])(
        'an upload that breaks off is cut off for the app: %s',
        async (framing) => {
          const name = `upload-${isLink}-${framing.length}`
          const { hostname, port } = new URL(real.server.url)
          const { host, pathname, search } = new URL(at(`/upload?${name}`), real.server.url)
          const socket = connect(Number(port), hostname)
          const authorization = isLink ? '' : `authorization: Bearer ${keys.ada}\r\n`
          socket.write(`POST ${pathname}${search} HTTP/1.1\r\nhost: ${host}\r\n${authorization}${framing}\r\n\r\n4\r\nhalf\r\n`)
          await to(`/left?${name}-begun`)
          socket.end()
          const seen = JSON.parse((await to(`/left?${name}-cut`)).text) as string[]
          expect(seen).toContain(`${name}-cut`)
          expect(seen).not.toContain(`${name}-whole`)
          socket.destroy()
        },
      )

      test('nothing listens, and what to do about it is told', async () => {
        const other = isLink ? (await linkTo(real, id, 4000, {}, keys.ada)).url : path('/', 4000)
        const told = await ask(real, other, { headers: headers() })
        expect([told.status, JSON.parse(told.text)]).toMatchObject([
          422,
          { code: 'connection_refused', title: 'nothing listens on port 4000 of the session; start the app, on 127.0.0.1 or 0.0.0.0' },
        ])
        await expect(openSocket(real, other, headers())).rejects.toThrow('422')
      })
    })

    test('below /preview/ a page has no origin, and speaks for nothing but itself', async () => {
      const { headers } = await ask(real, path('/speaks-for-the-host'), { headers: bearer() })
      expect(headers['content-security-policy']).toBe("sandbox, default-src 'self'")
      expect(headers['x-content-type-options']).toBe('nosniff')
      for (const name of ['clear-site-data', 'strict-transport-security', 'nel', 'report-to', 'alt-svc'])
        expect(headers).not.toHaveProperty(name)
    })

    test('below /preview/ a request without a key, of another, or of another page is refused as everywhere', async () => {
      const status = async (address: string, headers: Record<string, string> = {}) => (await ask(real, address, { headers })).status
      expect(await status(path('/'))).toBe(401)
      expect(await status(path('/'), bearer('hf_wrong'))).toBe(401)
      expect(await status(path('/'), bearer(keys.ben))).toBe(404)
      expect(await status(path('/'), bearer(keys.stranger))).toBe(404)
      expect(await status('/preview/ses_0000000000000000/3000/', bearer())).toBe(404)
      expect(await status(path('/'), { ...bearer(), origin: 'https://evil.example' })).toBe(403)
      expect(await status(path('/'), { ...bearer(), host: 'evil.example' })).toBe(403)
      for (const port of ['0', '65536', 'x', '-1', '%31']) expect(await status(path('/', port), bearer())).toBe(400)
      expect(await status('/preview/', bearer())).toBe(404)
      await expect(openSocket(real, path('/socket'))).rejects.toThrow('401')
      await expect(openSocket(real, path('/socket'), bearer(keys.ben))).rejects.toThrow('404')
    })

    test('under the host of a link there is the app and nothing else', async () => {
      for (const rest of ['v1/sessions', 'mcp', 'health', `preview/${id}/${PORT}/`]) {
        const { status, echo } = await ask(real, `${link}${rest}`, { headers: bearer() })
        expect([status, echo.path]).toEqual([200, `/${rest}`])
      }
      const { echo } = await ask(real, link, { headers: { authorization: 'Basic YTpi', 'x-api-key': 'of-the-app' } })
      expect(echo.headers).toContainEqual(['authorization', 'Basic YTpi'])
      expect(echo.headers).toContainEqual(['x-api-key', 'of-the-app'])
    })

    test('what listens on the loopback address of IPv6 alone is found too', async ({ skip }) => {
      const hasIt = await real.sh(id, 'cat /proc/net/if_inet6 2>/dev/null | grep -c " lo$" || true', keys.ada)
      if (Number(hasIt) === 0) skip('this sandbox has no IPv6')
      const start = 'python3 -u -m http.server --bind ::1 3001 > six.log 2>&1 & until grep -q Serving six.log; do sleep 0.02; done'
      await real.sh(id, start, keys.ada)
      expect((await ask(real, path('/six.log', 3001), { headers: bearer() })).text).toContain('Serving')
    })

    test('a page of another site is told apart by the app', async () => {
      const { echo } = await ask(real, link, { headers: { origin: 'https://evil.example' } })
      expect(echo.headers).toContainEqual(['origin', 'https://evil.example'])
    })

    test('a link that was made up, has ended, or is another server’s does not work', async () => {
      const { host } = new URL(link)
      const forged = host.replace(/^./, (letter) => (letter === 'a' ? 'b' : 'a'))
      const cut = host.replace(/^.(?=.*-)/, '')
      const resigned = host.replace(/.(?=\.)/, (letter) => (letter === 'a' ? 'b' : 'a'))
      for (const name of [forged, cut, resigned, `x.${host}`, 'x.localhost', '.localhost']) {
        const { status, text: told } = await ask(real, '/v1/sessions', { headers: { host: name, ...bearer() } })
        expect([name, status, JSON.parse(told)]).toMatchObject([name, 404, { code: 'not_found' }])
      }
      const page = await ask(real, '/', { headers: { host: forged, accept: 'text/html' } })
      expect(page).toMatchObject({ status: 404, headers: { 'content-type': 'text/html; charset=utf-8' } })
      expect(page.text).toContain('This link does not work, or does not work any more; ask for a new one.')
      await expect(openSocket(real, '/socket', { host: forged })).rejects.toThrow('404')
    })

    test('a link ends with the key that asked for it', async () => {
      const { key, record } = await real.server.plane.keys.create(real.admin, {
        name: 'k',
        kind: 'user',
        subject: 'ada',
        role: 'member',
        groups: [],
      })
      const { url } = await linkTo(real, id, PORT, {}, key)
      expect((await ask(real, url)).status).toBe(200)
      await real.server.plane.keys.revoke(real.admin, record.id)
      expect((await ask(real, url)).status).toBe(404)
    })

    test('who may not use a session gets no link to it', async () => {
      const make = async (key: string) =>
        (await real.request(`/v1/sessions/${id}/previews`, { method: 'POST', body: '{"port":3000}', key })).status
      expect([await make(keys.ben), await make(keys.stranger), await make(await real.keyOf({ subject: 'vera', role: 'viewer' }))]).toEqual([
        404, 404, 403,
      ])
      const wrong = await real.request(`/v1/sessions/${id}/previews`, {
        method: 'POST',
        body: '{"port":0,"ttl_seconds":90000}',
        key: keys.ada,
      })
      expect(wrong.status).toBe(400)
    })

    test('a client that leaves with several requests under way is gone for the app in each of them', async () => {
      const { hostname, port } = new URL(real.server.url)
      const { host } = new URL(link)
      const socket = connect(Number(port), hostname)
      const post = (name: string) => `POST /wait-for-body?${name} HTTP/1.1\r\nhost: ${host}\r\ncontent-length: 4\r\n\r\nbody`
      socket.write(`${post('ahead-1')}${post('ahead-2')}${post('ahead-3')}`)
      for (const name of ['ahead-1', 'ahead-2', 'ahead-3']) await ask(real, `${link}left?${name}-begun`)
      socket.destroy()
      for (const name of ['ahead-1', 'ahead-2', 'ahead-3']) expect((await ask(real, `${link}left?${name}`)).text).toContain(`"${name}"`)
    })

    test('two requests on one connection are two requests, also after one that was not read to its end', async () => {
      const { hostname, port } = new URL(real.server.url)
      const socket = connect(Number(port), hostname)
      const { host } = new URL(link)
      socket.write(
        `POST /die-at-once HTTP/1.1\r\nhost: ${host}\r\ncontent-length: 5\r\n\r\nGET /GET /second HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`,
      )
      const told = await text(socket)
      expect(told).toContain('502')
    })

    test('a link that a service asks for in the name of somebody leads where that one may go', async () => {
      const service = await real.keyOf({ subject: 'bot', kind: 'service', users: { list: ['ada', 'ben'] } })
      const make = (who: string) =>
        real.request(`/v1/sessions/${id}/previews`, {
          ...{ method: 'POST', body: `{"port":${PORT}}`, key: service, headers: { 'x-holdfast-on-behalf-of': who } },
        })
      const { url } = (await (await make('ada')).json()) as { readonly url: string }
      expect((await ask(real, url)).status).toBe(200)
      expect((await make('ben')).status).toBe(404)
    })

    test('what is released ends, also what was upgraded, and its link with it', async () => {
      const other = await real.session('released', {}, keys.ada)
      await startApp(real, other, PORT, keys.ada)
      const { url } = await linkTo(real, other, PORT, {}, keys.ada)
      const { socket } = await openSocket(real, `${url}socket`)
      const responses = [await open(real, `${url}stay`), await open(real, `${url}stay-without-length`)]
      for (const response of responses) await once(response, 'data')
      const closed = once(socket, 'close')
      const cut = Promise.allSettled(responses.map((response) => text(response)))
      await real.request(`/v1/sessions/${other}/release`, { method: 'POST', body: '{"if_busy":"kill"}', key: keys.ada })
      await closed
      expect(await cut).toMatchObject([{ status: 'rejected' }, { status: 'rejected' }])
      expect((await ask(real, url)).status).toBe(409)
    })

    test('a session that has no sandbox is not given one for a page that asks', async () => {
      const other = await real.session('suspended', {}, keys.ada)
      const { url } = await linkTo(real, other, PORT, {}, keys.ada)
      await real.request(`/v1/sessions/${other}/suspend`, { method: 'POST', key: keys.ada })
      const told = await ask(real, url)
      expect([told.status, JSON.parse(told.text)]).toMatchObject([409, { code: 'invalid_state', details: { state: 'suspended' } }])
    })

    test('requests are counted by the template of their address', async () => {
      const metrics = await (await real.request('/metrics')).text()
      expect(metrics).toMatch(/holdfast_http_requests_total\{route="\/preview\/\{session\}\/\{port\}",method="GET",status="2xx"\} [1-9]/)
      expect(metrics).not.toContain(id)
    })

    test('what goes wrong inside is no failure of the server', () => {
      expect(real.logged.filter((line) => line.includes('request-failed') && !line.includes('preview-request-failed'))).toEqual([])
      expect(real.logged.join('')).not.toContain(new URL(link).hostname.split('.')[0])
    })
  })
