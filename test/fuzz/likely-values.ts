/**
 * What a schema cannot say: values of a field by its name that lead further than to a refusal, and that keep the machine safe.
 *
 * A reference such as `@@session@@` becomes the id of something that exists when the request is sent.
 */
import fc from 'fast-check'
import type { Json } from './json-schema.ts'

/** Only these are ever run. */
const COMMANDS = ['true', 'echo hello', 'echo hello >&2; exit 3'] as const
const PATHS = [
  '.',
  '/workspace',
  '/workspace/a.txt',
  'a.txt',
  'folder',
  'folder/b.txt',
  '/',
  '/etc/hostname',
  '/tmp',
  '/tmp/c',
  '/proc/self',
] as const
/** Nobody answers there, and no name of that kind ever will be anybody's. */
const ADDRESSES = ['http://127.0.0.1:9/hook', 'https://hook.invalid/', 'http://[::1]:9/', 'https://hook.invalid:1/?a=b#c'] as const

interface Likely {
  readonly values: fc.Arbitrary<Json>
  /** What the schema allows beyond these would wait for long, reach out, or run anything. */
  readonly isAll?: boolean
}

const small = (max: number): Likely => ({ values: fc.integer({ min: 0, max }), isAll: true })
const oneOf = (...values: readonly [Json, ...Json[]]): Likely => ({ values: fc.constantFrom(...values) })

const LIKELY: Readonly<Record<string, Likely>> = {
  command: { values: fc.constantFrom(...COMMANDS), isAll: true },
  argv: { values: fc.constantFrom<Json>(['true'], ['echo', 'a', ''], ['/bin/no-such-program'], ['']), isAll: true },
  url: { values: fc.constantFrom(...ADDRESSES), isAll: true },
  cwd: oneOf('/workspace', '/', '/tmp'),
  env: oneOf({ A: 'b' }),
  wait_ms: small(2_000),
  grace_ms: { values: fc.constantFrom<Json>(0, 50), isAll: true },
  drain_seconds: small(1),
  session: oneOf('fuzz', 'another'),
  session_id: oneOf('@@session@@', '@@session@@', '@@foreign_session@@', '@@ended_session@@'),
  key: oneOf('fuzz', 'another'),
  scope: oneOf(
    'chat',
    'user',
    'global',
    '{launcher_type}_{launcher_id}',
    '{launcher_id',
    '{{a}}',
    '{}',
    'a}b{',
    '{launcher_id}{launcher_id}',
  ),
  variables: oneOf({ launcher_type: 'group', launcher_id: '1' }, { launcher_type: 'person', launcher_id: 2, sender_id: '{launcher_id}' }),
  path: { values: fc.constantFrom<Json>(...PATHS) },
  from: { values: fc.constantFrom<Json>(...PATHS) },
  to: { values: fc.constantFrom<Json>(...PATHS) },
  image: oneOf('python:3.11-slim', 'no-such-image'),
  name: oneOf('sample', 'another'),
  signal: oneOf('SIGINT', 'SIGWINCH', 'SIGNONE', 'SIGUSR1'),
  page_token: oneOf('@@page_token@@', 'bm90aGluZw'),
  owner: oneOf('member', 'viewer'),
  execution: oneOf('@@execution@@'),
  source_path: oneOf(['unpacked'], []),
  target_suffix: oneOf('upload'),
  filename: oneOf('skill.zip'),
  after: oneOf('0', '1', 'now', '@@event@@'),
}

/** Of each of these, a request is to have exactly one. */
export const ONE_OF: readonly (readonly string[])[] = [
  ['command', 'argv'],
  ['session', 'session_id', 'scope'],
  ['key', 'scope'],
]

/** What a request that has this field does not have. */
export const NOT_WITH: Readonly<Record<string, readonly string[]>> = {
  session_id: ['profile', 'pipeline', 'image', 'network', 'rootfs', 'workspace', 'mounts', 'limits'],
}

/** Mostly a likely one, sometimes whatever the schema allows. */
export function likelyValue(field: string, bySchema: () => fc.Arbitrary<Json>): fc.Arbitrary<Json> {
  const likely = Object.hasOwn(LIKELY, field) ? LIKELY[field] : undefined
  if (likely === undefined) return bySchema()
  if (likely.isAll === true) return likely.values
  return fc.oneof({ weight: 4, arbitrary: likely.values }, { weight: 1, arbitrary: bySchema() })
}
