/** A server that listens for everybody behind a proxy, with a domain for links: no door but that of previews answers below it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { because } from '../../../../../test/environment/backends.ts'
import { bubblewrapUnderTest, openRealServer } from '../rest/contract/real-server.ts'
import type { RealServer } from '../rest/contract/real-server.ts'
import { ask, linkTo, openSocket, startApp } from './contract/inner-app.ts'

const under = await bubblewrapUnderTest()

describe.skipIf(under.skipReason !== null)(`a domain for links${because(under)}`, () => {
  let real: RealServer
  let id = ''
  beforeAll(async () => {
    const address = { HOLDFAST_HOST: '0.0.0.0', HOLDFAST_PUBLIC_URL: 'https://box.example', HOLDFAST_PREVIEW_DOMAIN: 'preview.example' }
    real = await openRealServer({ ...address, HOLDFAST_TRUSTED_PROXIES: '127.0.0.1', HOLDFAST_BOX_ENABLED: 'false' })
    id = await real.session('app')
    await startApp(real, id, 3000)
  })
  afterAll(() => real?.close())

  test('a link has the scheme and the port of the public address, and leads to the app', async () => {
    const { url } = await linkTo(real, id, 3000)
    expect(url).toMatch(/^https:\/\/[a-z0-9-]{43}\.preview\.example\/$/)
    const { status, echo } = await ask(real, url, { headers: { 'x-forwarded-for': '6.6.6.6, 9.9.9.9', 'x-forwarded-proto': 'gopher' } })
    expect(status).toBe(200)
    expect(echo.headers).toContainEqual(['x-forwarded-proto', 'https'])
    expect(echo.headers).toContainEqual(['x-forwarded-for', '9.9.9.9'])
    const { socket, headers } = await openSocket(real, `${url}socket`, { origin: new URL(url).origin })
    expect(headers).toContainEqual(['origin', 'http://localhost:3000'])
    socket.terminate()
  })

  test('below the domain and below localhost the API is not there, everywhere else it is', async () => {
    const status = async (host: string) =>
      (await ask(real, '/v1/sessions', { headers: { host, authorization: `Bearer ${real.adminKey}` } })).status
    for (const host of ['x.preview.example', 'x.localhost', 'a.b.preview.example', 'X.PREVIEW.EXAMPLE:443', 'x.preview.example.'])
      expect([host, await status(host)]).toEqual([host, 404])
    for (const host of ['box.example', 'preview.example', 'localhost', '127.0.0.1', 'whatever.example'])
      expect([host, await status(host)]).toEqual([host, 200])
    await expect(openSocket(real, `/v1/sessions/${id}/terminal`, { host: 'x.preview.example' })).rejects.toThrow('404')
  })
})
