/** Configuration: what wins over what, and what is refused. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loadConfig } from './config.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'holdfast-config-'))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

const file = (text: string) => writeFileSync(join(home, 'holdfast.yaml'), text)
const load = (environment: NodeJS.ProcessEnv = {}, flags = {}) => loadConfig(flags, { HOLDFAST_HOME: home, ...environment })
const sourceOf = (name: string, config = load()) => config.shown.find((setting) => setting.name === name)?.source

const OIDC = { HOLDFAST_OIDC_ISSUER: 'https://login.example', HOLDFAST_OIDC_AUDIENCE: 'holdfast' }

describe('limits: none', () => {
  const none = { cpus: null, memoryBytes: null, pids: null }

  test('gives up every limit that needs cgroups, from the file and from the environment', () => {
    expect(load({ HOLDFAST_LIMITS: 'none' }).limits).toMatchObject({ ...none, openFiles: 1024 })
    file('limits: none')
    expect(load().limits).toMatchObject({ ...none, openFiles: 1024 })
    expect(load({ HOLDFAST_LIMITS_PIDS: '64' }).limits).toMatchObject({ ...none, pids: 64 })
  })

  test('wins over a limit of an earlier source, and not over one beside it', () => {
    file('limits:\n  memory: 1g')
    expect(load({ HOLDFAST_LIMITS: 'none', HOLDFAST_LIMITS_CPUS: '2' }).limits).toMatchObject({ ...none, cpus: 2 })
  })

  test('any other word is refused by name', () => {
    expect(() => load({ HOLDFAST_LIMITS: 'some' })).toThrow('HOLDFAST_LIMITS "some" must be none')
  })
})

describe('who comes in', () => {
  test('only keys, at a generous rate, from no other page, unless the operator says more', () => {
    expect(load()).toMatchObject({
      ...{ oidc: null, trustedProxies: [], allowedOrigins: [] },
      rates: { requests: { perSecond: 1000, burst: 2000 }, failures: { perSecond: 10, burst: 50 } },
    })
  })

  test('none lifts a rate', () => {
    const none = { HOLDFAST_RATE_LIMITS_REQUESTS_PER_SECOND: 'none', HOLDFAST_RATE_LIMITS_FAILURES_PER_SECOND: 'none' }
    expect(load(none).rates).toEqual({ requests: null, failures: null, services: null })
  })

  test('an identity provider is described in the file or the environment alike', () => {
    const rules = {
      ...{ issuer: 'https://login.example', audiences: ['holdfast', 'cli'], tenant: 'default', tenantClaim: 'org', subjectClaim: 'sub' },
      ...{ groupsClaim: null, roleClaim: 'realm_access.roles', roles: { ops: 'operator', boss: 'tenant_admin' }, defaultRole: null },
    }
    const claims = { HOLDFAST_OIDC_TENANT_CLAIM: 'org', HOLDFAST_OIDC_ROLE_CLAIM: 'realm_access.roles' }
    const roles = { HOLDFAST_OIDC_ROLES: 'ops=operator,boss=tenant_admin', HOLDFAST_OIDC_DEFAULT_ROLE: 'none' }
    expect(load({ ...OIDC, HOLDFAST_OIDC_AUDIENCE: 'holdfast, cli', ...claims, ...roles }).oidc).toEqual(rules)
    file(
      [
        ...['oidc:', '  issuer: https://login.example', '  audience: [holdfast, cli]', '  tenant_claim: org'],
        ...['  role_claim: realm_access.roles', '  default_role: none', '  roles:', '    ops: operator', '    boss: tenant_admin'],
      ].join('\n'),
    )
    expect(load().oidc).toEqual(rules)
  })

  test('an issuer on loopback needs no TLS, for trying it out', () => {
    expect(load({ ...OIDC, HOLDFAST_OIDC_ISSUER: 'http://127.0.0.1:9000' }).oidc?.issuer).toBe('http://127.0.0.1:9000')
  })
})

describe('precedence', () => {
  test('without anything the defaults hold', () => {
    const config = load()
    expect(config).toMatchObject({
      host: '127.0.0.1',
      port: 5410,
      backend: 'auto',
      network: 'off',
      sessions: { idleSeconds: null, maxSandboxes: 100, onStop: 'keep' },
      image: 'python:3.11-slim',
    })
    expect(config.limits).toEqual({ cpus: 1, memoryBytes: 512 * 1024 * 1024, pids: 128, tmpBytes: 64 * 1024 * 1024, openFiles: 1024 })
    expect(sourceOf('port', config)).toBe('default')
  })

  test('the file wins over defaults, the environment over the file, a flag over the environment', () => {
    file('port: 1001\nlimits:\n  memory: 100m\n')
    expect(load().port).toBe(1001)
    expect(load().limits.memoryBytes).toBe(100 * 1024 * 1024)
    expect(load({ HOLDFAST_PORT: '1002' }).port).toBe(1002)
    expect(load({ HOLDFAST_PORT: '1002' }, { port: '1003' }).port).toBe(1003)
  })

  test('every value remembers its source', () => {
    file('port: 1001\n')
    const config = load({ HOLDFAST_BACKEND: 'docker', DOCKER_HOST: 'unix:///x.sock' }, { 'limits.memory': '64m' })
    expect(sourceOf('port', config)).toBe(join(home, 'holdfast.yaml'))
    expect(sourceOf('backend', config)).toBe('HOLDFAST_BACKEND')
    expect(sourceOf('docker.host', config)).toBe('DOCKER_HOST')
    expect(sourceOf('limits.memory', config)).toBe('--memory')
  })

  test('our own variable wins over another program’s', () => {
    expect(load({ DOCKER_HOST: 'unix:///a', HOLDFAST_DOCKER_HOST: 'unix:///b' }).dockerHost).toBe('unix:///b')
  })

  test('none lifts a limit', () => {
    expect(load({ HOLDFAST_LIMITS_MEMORY: 'none', HOLDFAST_LIMITS_CPUS: '0.5' }).limits).toMatchObject({ memoryBytes: null, cpus: 0.5 })
  })
})

describe('refusals', () => {
  test('an unknown key of the file is named', () => {
    file('limits:\n  memroy: 1g\n')
    expect(load).toThrow(/holdfast\.yaml: limits\.memroy is not a known setting/)
  })

  test('an unknown variable is named', () => {
    expect(() => load({ HOLDFAST_PROT: '1' })).toThrow(/HOLDFAST_PROT is not a known setting/)
  })

  test('a secret in the file is refused without being repeated', () => {
    file('api_key: very-secret-very-secret\n')
    expect(load).toThrow(/api_key is a secret .* HOLDFAST_API_KEY/)
    expect(load).not.toThrow(/very-secret/)
  })

  test('a secret is never shown', () => {
    expect(JSON.stringify(load({ HOLDFAST_API_KEY: 'very-secret-very-secret' }).shown)).not.toContain('very-secret')
  })

  test('a short secret is refused without being repeated', () => {
    expect(() => load({ HOLDFAST_API_KEY: 'tiny' })).toThrow(/^HOLDFAST_API_KEY must be at least 16 characters$/)
  })

  test.each([
    [{ HOLDFAST_PORT: '70000' }, /HOLDFAST_PORT "70000" must be at most 65535/],
    [{ HOLDFAST_PORT: 'http' }, /HOLDFAST_PORT "http" must be a port number/],
    [{ HOLDFAST_LIMITS_MEMORY: '1' }, /HOLDFAST_LIMITS_MEMORY "1" must be at least 16777216 bytes \(16 MiB\)/],
    [{ HOLDFAST_LIMITS_MEMORY: 'much' }, /HOLDFAST_LIMITS_MEMORY "much" must be a size such as 512m/],
    [{ HOLDFAST_LIMITS_PIDS: '2' }, /HOLDFAST_LIMITS_PIDS "2" must be at least 8/],
    [{ HOLDFAST_LIMITS_CPUS: '0' }, /HOLDFAST_LIMITS_CPUS "0" must be at least 0\.01/],
    [{ HOLDFAST_LIMITS_CPUS: '-1' }, /HOLDFAST_LIMITS_CPUS "-1" must be a number of processors/],
    [{ HOLDFAST_BACKEND: 'host' }, /HOLDFAST_BACKEND "host" must be auto, podman/],
    [{ HOLDFAST_OIDC_ISSUER: 'http://login.example' }, /HOLDFAST_OIDC_ISSUER "http:\/\/login\.example" must be an address such as https/],
    [{ HOLDFAST_OIDC_ISSUER: 'https://user:pw@login.example' }, /must be an address such as https/],
    [{ HOLDFAST_OIDC_ISSUER: 'https://login.example' }, /oidc\.audience is missing/],
    [{ ...OIDC, HOLDFAST_AUTH: 'none' }, /oidc\.issuer means nothing while auth is none/],
    [
      { ...OIDC, HOLDFAST_OIDC_DEFAULT_ROLE: 'platform_admin' },
      /OIDC_DEFAULT_ROLE "platform_admin" must be viewer, member or operator, or none/,
    ],
    [{ ...OIDC, HOLDFAST_OIDC_ROLES: 'ops=boss' }, /OIDC_ROLES "ops=boss" ops: must be one of viewer, member, operator/],
    [{ ...OIDC, HOLDFAST_OIDC_ROLES: 'ops' }, /OIDC_ROLES "ops" must give values their roles/],
    [{ HOLDFAST_RATE_LIMITS_REQUESTS_PER_SECOND: '0' }, /REQUESTS_PER_SECOND "0" must be at least 1/],
    [{ HOLDFAST_PREVIEW_DOMAIN: '*.preview.example' }, /PREVIEW_DOMAIN .* must be a name such as preview.example/],
    [{ HOLDFAST_PREVIEW_DOMAIN: 'https://preview.example' }, /must be a name such as preview.example/],
    [{ HOLDFAST_PREVIEW_DOMAIN: '127.0.0.1' }, /must be a name such as preview.example/],
    [{ HOLDFAST_CORS_ALLOWED_ORIGINS: '*' }, /CORS_ALLOWED_ORIGINS "\*" 0: must be an origin .*there is no wildcard/],
    [{ HOLDFAST_CORS_ALLOWED_ORIGINS: 'https://a.example/' }, /0: must be an origin/],
    [{ HOLDFAST_CORS_ALLOWED_ORIGINS: 'https://a.example,null' }, /1: must be an origin/],
    [{ HOLDFAST_TRUSTED_PROXIES: 'proxy.example' }, /TRUSTED_PROXIES "proxy\.example" 0: must be an address or a network/],
    [{ HOLDFAST_HOME: 'relative' }, /HOLDFAST_HOME "relative" must be an absolute path/],
    [{ HOLDFAST_MOUNTS_ALLOWED_ROOTS: '/a:b' }, /HOLDFAST_MOUNTS_ALLOWED_ROOTS "\/a:b" 1: must be an absolute path/],
  ])('%o is refused by a sentence with the value', (environment, sentence) => {
    expect(() => load(environment)).toThrow(sentence)
  })

  test('a file that is no YAML is refused by name', () => {
    file('port: [1\n')
    expect(load).toThrow(/holdfast\.yaml is not valid YAML/)
  })

  test('a file that was asked for must exist', () => {
    expect(() => load({ HOLDFAST_CONFIG: join(home, 'other.yaml') })).toThrow(/cannot read the configuration file .*other\.yaml/)
  })
})
