/** Tokens of a real issuer: who gets in, as whom, and everything that does not. */
import { base64url, exportSPKI, SignJWT } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { isHoldfastError } from '@holdfast/protocol'
import { createAuthenticator } from '../authenticate.ts'
import { reasonOf } from '../refusal.ts'
import { newKey, openIssuer } from './contract/issuer.ts'
import type { Issuer } from './contract/issuer.ts'
import { fetchJson } from './fetch-json.ts'
import { tokenVerifier } from './tokens.ts'
import type { OidcRules } from './tokens.ts'

const ACTIVE: Readonly<Record<string, string>> = { default: 'tnt_default', acme: 'tnt_acme' }
const ADMIN_KEY = 'a.key.with-dots-in-it'

const time = { now: 1_700_000_000_000 }
let issuer: Issuer
beforeAll(async () => {
  issuer = await openIssuer(() => time.now)
})
afterAll(() => issuer.close())
beforeEach(() => {
  Object.assign(issuer.state, { keys: [issuer.first], instead: null, asked: [] })
})

function open(rules: Partial<OidcRules> = {}) {
  const verifyToken = tokenVerifier({
    rules: {
      ...{ issuer: issuer.url, audiences: ['holdfast'], subjectClaim: 'sub', groupsClaim: null, roleClaim: null, roles: {} },
      ...{ defaultRole: 'member', tenantClaim: null, tenant: 'default', ...rules },
    },
    tenants: { activeTenant: async (word) => ACTIVE[word] ?? null },
    fetchJson,
    clock: () => time.now,
  })
  const authenticate = createAuthenticator({
    adminKey: { matches: (key) => key === ADMIN_KEY },
    keys: { find: async () => null },
    tenants: { idOf: async (id) => id },
    verifyToken,
  })
  const enter = (token: string, more: object = {}) => authenticate({ authorization: `Bearer ${token}`, apiKey: undefined, ...more })
  /** `in`, or why not. */
  const outcome = async (token: string) => {
    try {
      await enter(token)
      return 'in'
    } catch (error) {
      if (!isHoldfastError(error)) throw error
      if (error.code !== 'unauthorized') return error.code
      // Whatever it is, its bearer is told the same.
      return error.message === 'the token is not valid' && Object.keys(error.details).length === 0 ? reasonOf(error) : error.message
    }
  }
  return { authenticate, enter, outcome }
}

describe('a good token', () => {
  test('is a member of the configured tenant, under a name that no key has by accident', async () => {
    expect(await open().enter(await issuer.sign())).toEqual({
      ...{ tenantId: 'tnt_default', subject: 'oidc:alice', groups: [], role: 'member', kind: 'user', keyId: 'oidc', onBehalfOf: null },
    })
    expect(await open().enter(await issuer.sign({ sub: 'admin' }))).toMatchObject({ subject: 'oidc:admin' })
  })

  test('gets its tenant, groups, role and name from the claims that the operator names, also nested ones', async () => {
    const { enter } = open({
      ...{ tenantClaim: 'org', groupsClaim: 'https://example.com/groups', roleClaim: 'realm.access.roles', subjectClaim: 'email' },
      roles: { ops: 'operator', boss: 'tenant_admin', guest: 'viewer' },
    })
    const claims = { org: 'acme', 'https://example.com/groups': ['red', 'blue'], email: 'a@example.com' }
    const as = async (roles: unknown) => (await enter(await issuer.sign({ ...claims, realm: { access: { roles } } }))).role
    expect(await enter(await issuer.sign({ ...claims }))).toMatchObject({
      ...{ tenantId: 'tnt_acme', subject: 'oidc:a@example.com', groups: ['oidc:red', 'oidc:blue'], role: 'member' },
    })
    expect([await as(['guest']), await as(['ops', 'boss', 'guest', 'other']), await as('ops'), await as(['other'])]).toEqual([
      ...['viewer', 'tenant_admin', 'operator', 'member'],
    ])
    expect(await as(['constructor', '__proto__', 'toString'])).toBe('member')
  })

  test.each(['RS256', 'PS256', 'ES384', 'EdDSA'])('may be signed with %s', async (algorithm) => {
    const key = await newKey('other', algorithm)
    issuer.state.keys = [issuer.first, key]
    expect(await open().outcome(await issuer.sign({}, key))).toBe('in')
  })

  test('may be for several audiences, of which one is ours', async () => {
    const { outcome } = open({ audiences: ['holdfast', 'other-name'] })
    expect(await outcome(await issuer.sign({ aud: ['elsewhere', 'other-name'] }))).toBe('in')
  })

  test('may be a minute old or early, because clocks differ', async () => {
    const { outcome } = open()
    expect(await outcome(await issuer.sign({ exp: issuer.now() - 59 }))).toBe('in')
    expect(await outcome(await issuer.sign({ nbf: issuer.now() + 59 }))).toBe('in')
  })

  test('speaks for nobody else, and names no other tenant', async () => {
    const { enter } = open()
    const token = await issuer.sign()
    await expect(enter(token, { onBehalfOf: 'bob' })).rejects.toMatchObject({ code: 'forbidden' })
    await expect(enter(token, { tenant: 'tnt_acme' })).rejects.toMatchObject({ code: 'forbidden' })
  })

  test('does not stand in the way of a key that looks like one', async () => {
    expect(await open().enter(ADMIN_KEY)).toMatchObject({ keyId: 'admin_key' })
    expect(issuer.state.asked).toEqual([])
  })
})

describe('refused is', () => {
  test.each<[what: string, claims: () => object, reason: string]>([
    ['one for somebody else', () => ({ aud: 'another-service' }), 'token-audience'],
    ['one for nobody', () => ({ aud: undefined }), 'token-audience'],
    ['one of another issuer', () => ({ iss: 'https://evil.example' }), 'token-issuer'],
    ['one of no issuer', () => ({ iss: undefined }), 'token-issuer'],
    ['an old one', () => ({ exp: issuer.now() - 61 }), 'token-expired'],
    ['one that never ends', () => ({ exp: undefined }), 'token-claims'],
    ['one that ends some day', () => ({ exp: 'some day' }), 'token-claims'],
    ['one that is not good yet', () => ({ nbf: issuer.now() + 61 }), 'token-not-yet-valid'],
    ['one of nobody', () => ({ sub: undefined }), 'token-subject'],
    ['one whose subject is empty', () => ({ sub: '' }), 'token-subject'],
    ['one whose subject is no text', () => ({ sub: ['alice'] }), 'token-subject'],
    ['one whose subject is too long', () => ({ sub: 'x'.repeat(251) }), 'token-subject'],
    ['one whose subject has control characters', () => ({ sub: 'a\nb' }), 'token-subject'],
  ])('%s', async (_what, claims, reason) => {
    expect(await open().outcome(await issuer.sign({ ...claims() }))).toBe(reason)
  })

  test.each<[what: string, rules: Partial<OidcRules>, claims: object, reason: string]>([
    ['of an unknown tenant', { tenantClaim: 'org' }, { org: 'nowhere' }, 'token-tenant'],
    ['of a tenant that is no text', { tenantClaim: 'org' }, { org: ['acme'] }, 'token-tenant'],
    ['of no tenant, where it has to name one', { tenantClaim: 'org' }, {}, 'token-tenant'],
    ['of a configured tenant that has ended', { tenant: 'ended' }, {}, 'token-tenant'],
    ['without a role, where there is no default', { defaultRole: null, roleClaim: 'roles', roles: { a: 'member' } }, {}, 'token-role'],
    ['with roles that are no list', { roleClaim: 'roles' }, { roles: { a: 1 } }, 'token-role'],
    ['with groups that are no list', { groupsClaim: 'groups' }, { groups: 7 }, 'token-groups'],
    ['with too many groups', { groupsClaim: 'groups' }, { groups: Array.from({ length: 65 }, (_, n) => `g${n}`) }, 'token-groups'],
    ['with a group of control characters', { groupsClaim: 'groups' }, { groups: ['a\0'] }, 'token-groups'],
  ])('one %s', async (_what, rules, claims, reason) => {
    expect(await open(rules).outcome(await issuer.sign({ ...claims }))).toBe(reason)
  })

  test('one without a signature, in every spelling', async () => {
    const { outcome } = open()
    const [, payload = ''] = (await issuer.sign()).split('.')
    for (const alg of ['none', 'None', 'NONE', 'nOnE']) {
      const header = base64url.encode(JSON.stringify({ alg, kid: 'first' }))
      expect(await outcome(`${header}.${payload}.`)).toBe('token-algorithm')
    }
  })

  test('one whose algorithm is not on the list, though the issuer offers the key', async () => {
    const key = await newKey('new', 'ML-DSA-44')
    issuer.state.keys = [key]
    expect(await open().outcome(await issuer.sign({}, key))).toBe('token-algorithm')
  })

  test('one that is signed with the public key as if it were a secret', async () => {
    const key = await newKey('rsa', 'RS256')
    issuer.state.keys = [key]
    const claims = { iss: issuer.url, aud: 'holdfast', sub: 'alice', exp: issuer.now() + 300 }
    for (const secret of [await exportSPKI(key.publicKey), JSON.stringify(key.jwk)]) {
      const token = await new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: 'rsa' }).sign(new TextEncoder().encode(secret))
      expect(await open().outcome(token)).toBe('token-algorithm')
    }
  })

  test('one of a stranger’s key, under the name of a real one, unknown, or brought along', async () => {
    const { outcome } = open()
    const stranger = await newKey('first')
    expect(await outcome(await issuer.sign({}, stranger))).toBe('token-signature')
    expect(await outcome(await issuer.sign({}, await newKey('unknown')))).toBe('token-key-unknown')
    expect(await outcome(await issuer.sign({}, stranger, { jwk: stranger.jwk }))).toBe('token-signature')
    expect(await outcome(await issuer.sign({}, stranger, { jku: `${issuer.url}/evil` }))).toBe('token-signature')
    expect(issuer.state.asked).not.toContain('/evil')
  })

  test('one that was changed after it was signed, or is no token at all', async () => {
    const { outcome } = open()
    const [header = '', payload = '', signature = ''] = (await issuer.sign()).split('.')
    const other = base64url.encode(JSON.stringify({ ...JSON.parse(Buffer.from(payload, 'base64url').toString()), sub: 'bob' }))
    expect(await outcome(`${header}.${other}.${signature}`)).toBe('token-signature')
    expect(await outcome(`${header}.${payload}.${signature.slice(0, -4)}`)).toBe('token-signature')
    expect(await outcome('not.a.token')).toBe('token-malformed')
    expect(await outcome(`${base64url.encode('{"alg":"ES256","crit":["x"],"x":1}')}.${payload}.${signature}`)).toBe('token-algorithm')
  })

  test('a huge one, before anything is done with it', async () => {
    const { outcome } = open()
    expect(await outcome(await issuer.sign({ padding: 'x'.repeat(8 * 1024) }))).toBe('token-too-large')
    expect(issuer.state.asked).toEqual([])
  })

  test('one that is sent as an API key', async () => {
    const { authenticate } = open()
    const apiKey = await issuer.sign()
    await expect(authenticate({ apiKey, authorization: undefined })).rejects.toMatchObject({ message: 'the API key is not valid' })
  })
})

describe('the keys of the issuer', () => {
  test('are read once for many, and again after some minutes', async () => {
    const { outcome } = open()
    const token = await issuer.sign({ exp: issuer.now() + 3600 })
    expect(await Promise.all(Array.from({ length: 20 }, () => outcome(token)))).toEqual(Array.from({ length: 20 }, () => 'in'))
    expect(issuer.state.asked).toEqual(['/.well-known/openid-configuration', '/keys'])
    time.now += 10 * 60_000
    expect(await outcome(token)).toBe('in')
    expect(issuer.state.asked).toHaveLength(4)
  })

  test('may change: a new one is found, one that was taken away counts no more', async () => {
    const { outcome } = open()
    const [token, second] = [await issuer.sign({ exp: issuer.now() + 3600 }), await newKey('second')]
    expect(await outcome(token)).toBe('in')
    issuer.state.keys = [second]
    time.now += 30_000
    expect(await outcome(await issuer.sign({}, second))).toBe('in')
    expect(await outcome(token)).toBe('token-key-unknown')
  })

  test('are not read again for every invented one', async () => {
    const { outcome } = open()
    const invented = await issuer.sign({ exp: issuer.now() + 3600 }, await newKey('invented'))
    for (let attempt = 0; attempt < 10; attempt += 1) expect(await outcome(invented)).toBe('token-key-unknown')
    expect(issuer.state.asked).toHaveLength(2)
    time.now += 30_000
    for (let attempt = 0; attempt < 10; attempt += 1) expect(await outcome(invented)).toBe('token-key-unknown')
    expect(issuer.state.asked).toHaveLength(4)
  })

  const UNAVAILABLE = 'identity_provider_unavailable'
  type Instead = NonNullable<Issuer['state']['instead']>
  const discovery =
    (document: () => object): Instead =>
    (path, answer) => {
      if (!path.includes('openid')) return false
      answer.end(JSON.stringify(document()))
      return true
    }
  const keysAre =
    (text: string): Instead =>
    (path, answer) => {
      if (path !== '/keys') return false
      answer.end(text)
      return true
    }
  const moved: Instead = (path, answer) => {
    if (path === '/moved') answer.end(JSON.stringify({ issuer: issuer.url, jwks_uri: `${issuer.url}/keys` }))
    else if (path.includes('openid')) answer.writeHead(302, { location: `${issuer.url}/moved` }).end()
    else return false
    return true
  }
  test.each<[what: string, instead: () => Instead]>([
    ['hangs up', () => (_path, answer) => Boolean(answer.destroy())],
    ['fails', () => (_path, answer) => Boolean(answer.writeHead(500).end('{}'))],
    ['sends elsewhere', () => moved],
    ['is another one', () => discovery(() => ({ issuer: 'https://evil.example', jwks_uri: `${issuer.url}/keys` }))],
    ['names no keys', () => discovery(() => ({ issuer: issuer.url }))],
    ['names keys in a file', () => discovery(() => ({ issuer: issuer.url, jwks_uri: 'file:///etc/passwd' }))],
    ['offers nonsense', () => keysAre('nonsense')],
    ['offers no list', () => keysAre('{"keys":1}')],
    ['offers more than anybody could want', () => keysAre(`{"keys":[],"padding":"${'x'.repeat(600 * 1024)}"}`)],
    ['offers a key that is none', () => keysAre('{"keys":[{"kty":"EC","crv":"P-256","alg":"ES256","kid":"first","x":"AA","y":"AA"}]}')],
  ])('an issuer that %s lets nobody in', async (_what, instead) => {
    issuer.state.instead = instead()
    expect(await open().outcome(await issuer.sign())).toBe(UNAVAILABLE)
  })

  test('an issuer that is gone lets nobody in once its keys are old, is not asked by every request, and may come back', async () => {
    const { outcome } = open()
    const token = await issuer.sign({ exp: issuer.now() + 36_000 })
    expect(await outcome(token)).toBe('in')
    issuer.state.instead = (_path, answer) => Boolean(answer.destroy())
    time.now += 9 * 60_000
    expect(await outcome(token)).toBe('in')
    time.now += 60_000
    issuer.state.asked = []
    for (let attempt = 0; attempt < 10; attempt += 1) expect(await outcome(token)).toBe(UNAVAILABLE)
    expect(issuer.state.asked).toHaveLength(1)
    issuer.state.instead = null
    expect(await outcome(token)).toBe(UNAVAILABLE)
    time.now += 5000
    expect(await outcome(token)).toBe('in')
  })
})
