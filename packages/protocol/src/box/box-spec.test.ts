/** The flat wish of a Box client: defaults, lax values, and what is refused. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BoxManagedProcessSpec } from './box-process.ts'
import { BoxSpec } from './box-spec.ts'

const spec = (fields: object) => BoxSpec.parse({ session_id: 's1', ...fields })
const refused = (fields: object) => BoxSpec.safeParse({ session_id: 's1', ...fields }).error?.issues.map(({ path }) => path[0])

describe('a spec', () => {
  test('has its defaults', () => {
    expect(spec({})).toEqual({
      ...{
        session_id: 's1',
        cmd: '',
        workdir: '/workspace',
        timeout_sec: 30,
        network: 'off',
        env: {},
        image: 'rockchin/langbot-sandbox:latest',
      },
      ...{ host_path: null, host_path_mode: 'rw', mount_path: '/workspace', extra_mounts: [], persistent: false },
      ...{ cpus: 1, memory_mb: 512, pids_limit: 128, read_only_rootfs: true, workspace_quota_mb: 0 },
    })
  })

  test('takes numbers and truth values laxly, and passes over what it does not know', () => {
    const lax = { timeout_sec: '5', cpus: '0.5', memory_mb: 64.0, pids_limit: true, persistent: 'yes', read_only_rootfs: 0, colour: 'red' }
    expect(spec(lax)).toMatchObject({ timeout_sec: 5, cpus: 0.5, memory_mb: 64, pids_limit: 1, persistent: true, read_only_rootfs: false })
    expect(spec(lax)).not.toHaveProperty('colour')
    for (const word of ['1', 'true', 'T', 'Yes', 'y', 'ON']) expect(spec({ persistent: word }).persistent).toBe(true)
    for (const word of ['0', 'false', 'F', 'No', 'n', 'OFF']) expect(spec({ persistent: word }).persistent).toBe(false)
  })

  test('reads a number as text of at most 64 characters, and refuses a longer one without looking at its digits', () => {
    const asNumber = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i
    const text = fc.string({ unit: fc.constantFrom(...'0123456789.+-eE '.split('')), maxLength: 64 })
    fc.assert(
      fc.property(text, (cpus) => {
        const isNumber = asNumber.test(cpus.trim()) && Number.isFinite(Number(cpus)) && Number(cpus) > 0
        expect(BoxSpec.safeParse({ session_id: 's1', cpus }).data?.cpus).toBe(isNumber ? Number(cpus) : undefined)
      }),
    )
    expect(refused({ cpus: `${'1'.repeat(1_000_000)}x`, memory_mb: '1'.repeat(1_000_000) })).toEqual(['cpus', 'memory_mb'])
  })

  test('trims its texts', () => {
    expect(spec({ session_id: '  s2 ', cmd: ' echo ', workdir: ' /workspace ', host_path: ' /srv ', skill_name: '  ' })).toMatchObject({
      ...{ session_id: 's2', cmd: 'echo', workdir: '/workspace', host_path: '/srv', skill_name: null },
    })
  })

  test.each([
    ['session_id', { session_id: ' ' }],
    ['session_id', { session_id: 5 }],
    ['session_id', { session_id: undefined }],
    ['cmd', { cmd: null }],
    ['workdir', { workdir: 'workspace' }],
    ['workdir', { workdir: null }],
    ['workdir', { workdir: '' }],
    ['timeout_sec', { timeout_sec: 0 }],
    ['timeout_sec', { timeout_sec: 1.5 }],
    ['timeout_sec', { timeout_sec: 'soon' }],
    ['network', { network: 'ON' }],
    ['env', { env: { A: 1 } }],
    ['env', { env: null }],
    ['image', { image: 7 }],
    ['host_path', { host_path: '' }],
    ['host_path', { host_path: 'srv' }],
    ['host_path_mode', { host_path_mode: 'RW' }],
    ['mount_path', { mount_path: 'workspace' }],
    ['extra_mounts', { extra_mounts: null }],
    ['extra_mounts', { extra_mounts: [{ host_path: 'x', mount_path: '/y' }] }],
    ['extra_mounts', { extra_mounts: [{ host_path: '/x', mount_path: '/workspace/../y' }] }],
    ['skill_name', { skill_name: 'a b' }],
    ['skill_name', { skill_name: '--' }],
    ['skill_name', { skill_name: 'x'.repeat(65) }],
    ['persistent', { persistent: 'maybe' }],
    ['persistent', { persistent: 2 }],
    ['cpus', { cpus: 0 }],
    ['cpus', { cpus: 'inf' }],
    ['memory_mb', { memory_mb: 31 }],
    ['pids_limit', { pids_limit: 0 }],
    ['workspace_quota_mb', { workspace_quota_mb: -1 }],
  ])('is refused for its %s: %j', (field, fields) => {
    expect(refused(fields)).toContain(field)
  })

  test('takes paths of Windows and names of any language', () => {
    for (const path of ['C:\\data', 'c:/data', '\\\\host\\share', '/srv'])
      expect(spec({ host_path: path, host_path_mode: 'none' }).host_path).toBe(path)
    expect(spec({ skill_name: 'démo_技能-1' }).skill_name).toBe('démo_技能-1')
  })

  test('works in what it mounts, unless it says otherwise', () => {
    for (const workdir of [undefined, null, '']) expect(spec({ workdir, mount_path: '/data' }).workdir).toBe('/data')
    expect(spec({ workdir: '/data/x', mount_path: '/data', host_path: '/srv' }).workdir).toBe('/data/x')
    expect(refused({ workdir: '/elsewhere', mount_path: '/data', host_path: '/srv' })).toEqual(['workdir'])
    expect(refused({ workdir: '/database', mount_path: '/data', host_path: '/srv' })).toEqual(['workdir'])
    expect(spec({ workdir: '/elsewhere', mount_path: '/data', host_path: '/srv', host_path_mode: 'none' }).workdir).toBe('/elsewhere')
    expect(spec({ workdir: '/elsewhere', mount_path: '/data' }).workdir).toBe('/elsewhere')
  })
})

describe('a mount below the directory of artifacts', () => {
  const HEX = 'ab'.repeat(32)
  const artifact = {
    ...{ host_path: '/srv/package', mount_path: `/opt/langbot-artifacts/${HEX}`, mode: 'ro' },
    ...{ content_digest: `sha256:${HEX}`, manifest_path: '/srv/manifest.json' },
  }

  test('is taken when it is read-only and named by its digest', () => {
    expect(spec({ extra_mounts: [artifact] }).extra_mounts).toEqual([artifact])
    const plain = { host_path: '/srv', mount_path: '/mnt/x', mode: 'rw', content_digest: null, manifest_path: null }
    expect(spec({ extra_mounts: [plain] }).extra_mounts).toEqual([plain])
  })

  test.each([
    { mode: 'rw' },
    { content_digest: null },
    { content_digest: `sha256:${HEX.toUpperCase()}` },
    { manifest_path: null },
    { mount_path: '/opt/langbot-artifacts' },
    { mount_path: `/opt/langbot-artifacts/${HEX}/x` },
    { mount_path: `/opt/langbot-artifacts/${'cd'.repeat(32)}` },
    { mount_path: '/mnt/elsewhere' },
  ])('is refused with %j', (change) => {
    expect(refused({ extra_mounts: [{ ...artifact, ...change }] })).toContain('extra_mounts')
  })
})

test('a client that sends no skill_name can be told apart', () => {
  expect([spec({}), spec({ skill_name: null })].map((each) => each.skill_name)).toEqual([undefined, null])
})

test('a process has a name and a place unless it says others', () => {
  expect(BoxManagedProcessSpec.parse({ command: ' sh ' })).toEqual({
    process_id: 'default',
    command: 'sh',
    args: [],
    env: {},
    cwd: '/workspace',
    memory_mb: 0,
  })
  for (const wrong of [
    {},
    { command: ' ' },
    { command: 'sh', args: [1] },
    { command: 'sh', args: 'x' },
    { command: 'sh', cwd: 'x' },
    { command: 'sh', env: { A: 1 } },
  ])
    expect(BoxManagedProcessSpec.safeParse(wrong).success).toBe(false)
})
