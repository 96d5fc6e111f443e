/** The whole server with a real issuer beside it: a token is as good as a key, for as long as it lasts. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../../../../../test/environment/backends.ts'
import { startServer } from '../../app.ts'
import type { RunningServer } from '../../app.ts'
import { loadConfig } from '../../config.ts'
import { jsonLog } from '../../telemetry/log.ts'
import { openIssuer } from './contract/issuer.ts'
import type { Issuer } from './contract/issuer.ts'

const subjects = (await backendsUnderTest()).filter(({ kind }) => kind === 'bubblewrap')

for (const subject of subjects) {
  describe.skipIf(subject.skipReason !== null)(`tokens on ${subject.kind}${because(subject)}`, () => {
    let home: string
    let issuer: Issuer
    let server: RunningServer
    const logged: string[] = []
    beforeAll(async () => {
      home = mkdtempSync(join(tmpdir(), 'holdfast-oidc-'))
      issuer = await openIssuer(Date.now)
      const settings = {
        ...{ HOLDFAST_HOME: home, HOLDFAST_PORT: '0', HOLDFAST_BACKEND: subject.kind, HOLDFAST_SESSIONS_ON_STOP: 'suspend' },
        ...{ HOLDFAST_OIDC_ISSUER: issuer.url, HOLDFAST_OIDC_AUDIENCE: 'holdfast', HOLDFAST_OIDC_TENANT_CLAIM: 'org' },
        ...{ HOLDFAST_OIDC_ROLE_CLAIM: 'roles', HOLDFAST_OIDC_ROLES: 'watchers=viewer,root=platform_admin' },
      }
      server = await startServer(
        loadConfig({}, settings),
        jsonLog('info', (line) => logged.push(line)),
      )
    })
    afterAll(async () => {
      await server.close()
      await issuer.close()
      rmSync(home, { recursive: true, force: true })
    })

    const send = async (path: string, token: string, body?: object) => {
      const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
      const answer = await fetch(`${server.url}${path}`, { ...init, headers: { authorization: `Bearer ${token}` } })
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
    }
    const member = (claims = {}) => issuer.sign({ org: 'default', ...claims })

    test('a command runs for its bearer, in a session that no key of the same name sees', async () => {
      const ran = await send('/v1/exec', await member(), { session: 'mine', command: 'echo hello' })
      expect(ran).toMatchObject({ status: 200, body: { stdout: 'hello\n' } })
      const { id } = ran.body['session'] as { readonly id: string }
      expect(await send(`/v1/sessions/${id}`, await member())).toMatchObject({ body: { owner: 'oidc:alice' } })
      const admin = readFileSync(join(home, 'admin.key'), 'utf8').trim()
      const { key } = (await send('/v1/keys', admin, { name: 'k', subject: 'alice' })).body as { readonly key: string }
      expect((await send(`/v1/sessions/${id}`, key)).status).toBe(404)
      const { key: own } = (await send('/v1/keys', admin, { name: 'k', subject: 'oidc:alice' })).body as { readonly key: string }
      expect((await send(`/v1/sessions/${id}`, own)).status).toBe(200)
      expect((await send(`/v1/sessions/${id}`, await member({ sub: 'bob' }))).status).toBe(404)
      expect((await send(`/v1/sessions/${id}`, await member({ sub: 'vera', roles: ['watchers'] }))).status).toBe(200)
    })

    test('a role from a claim is that role, and a member is no more', async () => {
      expect((await send('/v1/tenants', await member())).status).toBe(403)
      expect((await send('/v1/tenants', await member({ roles: 'root' }))).status).toBe(200)
    })

    test('a token of a tenant that ends is refused from then on', async () => {
      const root = await member({ roles: ['root'] })
      const made = await send('/v1/tenants', root, { name: 'leaving' })
      const token = await member({ org: 'leaving' })
      expect((await send('/v1/sessions', token)).status).toBe(200)
      await send(`/v1/tenants/${String(made.body['id'])}/terminate`, root, {})
      expect(await send('/v1/sessions', token)).toMatchObject({ status: 401, body: { title: 'the token is not valid' } })
    })

    test('what is refused says nothing to its bearer, and the reason to the log, without the token', async () => {
      const token = await member({ aud: 'another' })
      expect(await send('/v1/sessions', token)).toMatchObject({ status: 401, body: { title: 'the token is not valid', details: {} } })
      expect(logged.join('')).toContain('"reason":"token-audience","client":"127.0.0.1"')
      expect(logged.join('')).not.toContain(token.slice(0, 40))
    })
  })
}
