/** What a person with a browser and a program without a key get from a server. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { because } from '../../../../../test/environment/backends.ts'
import { RELEASE } from '../../release.ts'
import { bubblewrapUnderTest, openRealServer } from './contract/real-server.ts'
import type { RealServer } from './contract/real-server.ts'

const under = await bubblewrapUnderTest()

describe.skipIf(under.skipReason !== null)(`the first look at a server${because(under)}`, () => {
  let real: RealServer
  beforeAll(async () => {
    real = await openRealServer()
  })
  afterAll(() => real.close())

  test('a browser gets a page at /, a program the problem document that it always got', async () => {
    const page = await fetch(real.server.url, { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } })
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    const text = await page.text()
    expect(text).toContain(`Version ${RELEASE}, sandboxes by bubblewrap`)
    expect(text).toContain('href="/docs"')
    const program = await fetch(real.server.url)
    expect([program.status, await program.json()]).toMatchObject([404, { code: 'not_found' }])
    expect((await fetch(real.server.url, { method: 'POST', headers: { accept: 'text/html' } })).status).toBe(404)
  })

  test('health names the version of Holdfast, and that of the backend apart', async () => {
    const health = await (await fetch(`${real.server.url}/healthz`)).json()
    expect(health).toEqual({ status: 'ok', version: RELEASE, backend: 'bubblewrap', backend_version: expect.any(String) as string })
  })

  test('401 says what is wrong with the key: none, or one that is not valid any more', async () => {
    const hint = async (headers: Record<string, string>) =>
      ((await (await fetch(`${real.server.url}/v1/sessions`, { headers })).json()) as { hint: string }).hint
    expect(await hint({})).toMatch(/^Send an API key as/)
    expect(await hint({ authorization: 'Bearer hf_wrong_wrong_wrong' })).toMatch(
      /wrong, was revoked or has expired: check HOLDFAST_API_KEY/,
    )
  })

  test('403 of an administrative route names the roles that may', async () => {
    const key = await real.keyOf({ subject: 'ada' })
    const refused = (await (await real.request('/v1/tenants', { method: 'POST', body: '{"name":"x"}', key })).json()) as object
    expect(refused).toMatchObject({ code: 'forbidden', hint: 'Use a key with the role platform_admin.' })
  })

  test('a link reads one file with its type until its time is over or its key is revoked, and nothing else', async () => {
    const key = await real.keyOf({ subject: 'ada' })
    const session = await real.session('plots', {}, key)
    await real.sh(session, 'printf picture > plot.png; printf other > other.png', key)
    const made = await real.request(`/v1/sessions/${session}/files/links`, { method: 'POST', body: '{"path":"plot.png"}', key })
    expect(made.status).toBe(201)
    const { url } = (await made.json()) as { url: string }
    const shown = await fetch(url)
    expect([shown.status, shown.headers.get('content-type'), await shown.text()]).toEqual([200, 'image/png', 'picture'])
    expect(shown.headers.get('content-security-policy')).toContain('sandbox')
    expect((await fetch(url.replace('plot.png', 'other.png'))).status).toBe(401)
    expect((await fetch(`${url.slice(0, -8)}AAAAAAAA`)).status).toBe(401)
    expect((await fetch(url, { method: 'DELETE' })).status).toBe(401)
    const { keys } = real.server.plane
    await keys.revoke(real.admin, (await keys.find(key))?.id ?? '')
    expect((await fetch(url)).status).toBe(401)
  })
})
