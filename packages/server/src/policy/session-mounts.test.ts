/** What of the host a session shows, tenant by tenant. */
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { sandboxUserOnHost } from '../sandboxes/sandbox-user.ts'
import { defaultWorkspace } from './default-workspace.ts'
import { ownWorkspace, sessionMounts, showsHost } from './session-mounts.ts'

const TENANT = 'ten_1'
const WHOSE = { tenantId: TENANT, owner: 'ada' }
const user = sandboxUserOnHost()
let directory: string
const at = (...names: readonly string[]) => join(directory, ...names)
const make = (...names: readonly string[]) => {
  mkdirSync(at(...names), { recursive: true })
  chmodSync(at(...names), 0o777)
  return at(...names)
}
const mountsOf = (allowedRoots: readonly string[] = [at('roots', '{tenant}')], workspace: string | null = null) =>
  sessionMounts({
    ...{ allowedRoots, stateDir: at('state'), user },
    defaultWorkspace: workspace === null ? null : defaultWorkspace({ directory: workspace, allowedRoots, user }),
  })

beforeEach(() => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-mounts-')))
  make('own')
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))
const own = (mode: 'rw' | 'ro' = 'rw') => [{ source: at('own'), target: '/workspace', mode, isOwn: true as const }]

describe('the workspace', () => {
  test('is the session’s own directory, writable unless it is wished otherwise', async () => {
    expect(await ownWorkspace({}, at('own'))).toEqual(own())
    expect(await ownWorkspace({ workspace: { mode: 'ro' } }, at('own'))).toEqual(own('ro'))
    expect(await ownWorkspace({ workspace: { mode: 'none' } }, at('own'))).toEqual(own())
    expect(await mountsOf().of({}, WHOSE, own())).toEqual(own())
  })

  test('is a directory of the host in its place, and beside it at another target', async () => {
    const source = make('roots', TENANT, 'a')
    const inPlace = { workspace: { source, mode: 'ro' } } as const
    expect(await mountsOf().of(inPlace, WHOSE, await ownWorkspace(inPlace, at('own')))).toEqual([
      { source, target: '/workspace', mode: 'ro' },
    ])
    const beside = { workspace: { source, mode: 'ro', target: '/mnt/a' } } as const
    const shown = await mountsOf().of(beside, WHOSE, await ownWorkspace(beside, at('own')))
    expect(shown).toEqual([{ source, target: '/mnt/a', mode: 'ro' }, ...own()])
  })

  test('of mode none is the session’s own, and the source is not even looked at', async () => {
    const wish = { workspace: { source: '/etc', mode: 'none' } } as const
    expect(showsHost(wish)).toBe(false)
    expect(await mountsOf().of(wish, WHOSE, await ownWorkspace(wish, at('own')))).toEqual(own())
  })

  test('is a directory', async () => {
    const root = make('roots', TENANT)
    writeFileSync(join(root, 'file'), '')
    await expect(mountsOf().of({ workspace: { source: join(root, 'file'), mode: 'ro' } }, WHOSE, [])).rejects.toMatchObject({
      code: 'mount_refused',
      message: `'${join(root, 'file')}' cannot be the workspace: it is not a directory`,
    })
  })
})

describe('every mount', () => {
  test.each([
    ['an allowed root of another tenant', () => make('roots', 'ten_2', 'a'), 'is not under an allowed root'],
    ['the system', () => '/etc', 'is not under an allowed root'],
    ['the whole host', () => '/', 'is not under an allowed root'],
    ['the state of the server', () => make('state'), 'is not under an allowed root'],
    [
      'a link of the tenant’s to another’s',
      () => {
        const target = make('roots', 'ten_2', 'a')
        make('roots', TENANT)
        symlinkSync(target, at('roots', TENANT, 'link'))
        return at('roots', TENANT, 'link')
      },
      'a link in it leads to where callers may not mount',
    ],
  ])('is refused that is %s, as the workspace and as any other', async (_what, sourceOf, why) => {
    const source = sourceOf()
    const refusal = { code: 'mount_refused', message: expect.stringContaining(why) }
    await expect(mountsOf().of({ workspace: { source } }, WHOSE, [])).rejects.toMatchObject(refusal)
    const good = { source: make('roots', TENANT, 'good'), target: '/mnt/good', mode: 'ro' } as const
    const mounts = [good, { source, target: '/mnt/bad', mode: 'ro' } as const]
    await expect(mountsOf().of({ mounts }, WHOSE, own())).rejects.toMatchObject(refusal)
  })

  test('is refused where no root is allowed', async () => {
    await expect(mountsOf([]).of({ workspace: { source: make('roots', TENANT) } }, WHOSE, [])).rejects.toThrow(
      'is not under an allowed root',
    )
  })

  test('does not take the place of the session’s own directory', async () => {
    const mounts = [{ source: make('roots', TENANT), target: '/workspace', mode: 'ro' }] as const
    await expect(mountsOf().of({ mounts }, WHOSE, own())).rejects.toThrow("two mounts have the same target '/workspace'")
  })

  test('may lie inside the workspace, which comes first', async () => {
    const source = make('roots', TENANT)
    const mounts = [{ source, target: '/workspace/data', mode: 'rw' }] as const
    expect(await mountsOf().of({ mounts }, WHOSE, own())).toEqual([...own(), ...mounts])
  })
})

describe('places of owners', () => {
  const placesOf = (tenantId: string) =>
    sessionMounts({
      ...{ allowedRoots: [], stateDir: at('state'), user, defaultWorkspace: null },
      ownersPlaces: {
        tenantId,
        rootsOf: (owner) => [at('shared', owner)],
        placeOf: (owner) => at('state', owner),
        mountsOf: async () => [],
      },
    })
  const sourcesOf = () => [make('shared', 'ada'), make('state', 'ada')]

  test('are shown to them, wherever the server keeps them', async () => {
    for (const source of sourcesOf())
      expect(await placesOf(TENANT).of({ workspace: { source } }, WHOSE, [])).toEqual([{ source, target: '/workspace', mode: 'rw' }])
  })

  test('are not shown to another owner, nor to one of the same name in another tenant', async () => {
    for (const source of sourcesOf()) {
      const refusal = { code: 'mount_refused' }
      await expect(placesOf(TENANT).of({ workspace: { source } }, { ...WHOSE, owner: 'ben' }, [])).rejects.toMatchObject(refusal)
      await expect(placesOf(TENANT).of({ workspace: { source } }, { ...WHOSE, tenantId: 'ten_2' }, [])).rejects.toMatchObject(refusal)
    }
  })
})

describe('the default workspace', () => {
  test('is made for each tenant when it is needed, and belongs to the sandbox’s user', async () => {
    make('roots')
    const mounts = mountsOf([at('roots')], at('roots', 'tenants', '{tenant}'))
    const source = at('roots', 'tenants', TENANT)
    expect(await mounts.of({ workspace: { source } }, WHOSE, [])).toEqual([{ source, target: '/workspace', mode: 'rw' }])
    expect(statSync(source)).toMatchObject({ uid: user.uid })
    expect(await mounts.of({ workspace: { source } }, WHOSE, [])).toHaveLength(1)
  })

  test('of another tenant is not made, nor is what somebody merely names', async () => {
    make('roots')
    const mounts = mountsOf([at('roots')], at('roots', 'tenants', '{tenant}'))
    const source = at('roots', 'tenants', 'ten_2')
    await expect(mounts.of({ workspace: { source } }, WHOSE, [])).rejects.toThrow('it does not exist')
  })

  test('may be an allowed root itself', async () => {
    const mounts = mountsOf([at('roots', '{tenant}')], at('roots', '{tenant}'))
    const source = at('roots', TENANT)
    expect(await mounts.of({ workspace: { source } }, WHOSE, [])).toEqual([{ source, target: '/workspace', mode: 'rw' }])
  })

  test('is never made through a link that somebody left in its way', async () => {
    make('roots')
    make('elsewhere')
    symlinkSync(at('elsewhere'), at('roots', 'tenants'))
    const mounts = mountsOf([at('roots')], at('roots', 'tenants', '{tenant}'))
    const source = at('roots', 'tenants', TENANT)
    await expect(mounts.of({ workspace: { source } }, WHOSE, [])).rejects.toMatchObject({
      code: 'mount_refused',
      message: expect.stringContaining('tenants could not be made or opened as a directory'),
    })
    expect(() => statSync(at('elsewhere', TENANT))).toThrow('ENOENT')
  })

  test('lies below an allowed root, or the server does not start', () => {
    for (const place of ['/srv/other', at('roots-not'), at('roots', '..', 'x')])
      expect(() => mountsOf([at('roots')], place)).toThrow(expect.objectContaining({ code: 'config_invalid' }))
  })
})

describe('what a door gives to one owner', () => {
  const mounts = () =>
    sessionMounts({
      ...{ allowedRoots: [], stateDir: at('state'), user, defaultWorkspace: null },
      ownersPlaces: {
        tenantId: TENANT,
        rootsOf: (owner) => (owner === 'ada' ? [at('shared')] : []),
        placeOf: (owner) => at('state', 'places', owner),
        mountsOf: async (owner) => (owner === 'ada' ? [{ source: '/s', target: '/opt/shown', mode: 'ro' }] : []),
      },
    })
  const shown = (source: string, owner: string, tenantId = TENANT) => mounts().of({ workspace: { source } }, { tenantId, owner }, [])

  test('is that one’s own place, wherever the server keeps it, and nobody else’s', async () => {
    const place = make('state', 'places', 'ada')
    expect(await shown(place, 'ada')).toEqual([{ source: place, target: '/workspace', mode: 'rw' }])
    const below = make('state', 'places', 'ada', 'deep')
    expect(await shown(below, 'ada')).toMatchObject([{ source: below }])
    await expect(shown(place, 'bob')).rejects.toMatchObject({ code: 'mount_refused' })
    await expect(shown(place, 'ada', 'ten_2')).rejects.toMatchObject({ code: 'mount_refused' })
    make('state', 'places', 'ada-too')
    await expect(shown(at('state', 'places', 'ada-too'), 'ada')).rejects.toMatchObject({ code: 'mount_refused' })
  })

  test('is also shown in every session of the owner, unless a mount hides it', async () => {
    const show = (target: string, owner: string, tenantId = TENANT) =>
      mounts().withOwners([{ source: '/w', target, mode: 'rw' }], { tenantId, owner }, 'ses_0000000000000000')
    expect(await show('/workspace', 'ada')).toMatchObject([{ target: '/opt/shown' }, { target: '/workspace' }])
    for (const hiding of ['/opt', '/opt/shown', '/opt/shown/below']) expect(await show(hiding, 'ada')).toMatchObject([{ target: hiding }])
    expect(await show('/workspace', 'bob')).toMatchObject([{ target: '/workspace' }])
    expect(await show('/workspace', 'ada', 'ten_2')).toMatchObject([{ target: '/workspace' }])
  })

  test('is not what a link in the place leads to', async () => {
    make('state', 'places', 'ada')
    symlinkSync(make('state', 'keys'), at('state', 'places', 'ada', 'link'))
    await expect(shown(at('state', 'places', 'ada', 'link'), 'ada')).rejects.toMatchObject({ code: 'mount_refused' })
    await expect(shown(at('state'), 'ada')).rejects.toMatchObject({ code: 'mount_refused' })
  })

  test('and further roots, under the same rules as others', async () => {
    const source = make('shared', 'a')
    expect(await shown(source, 'ada')).toMatchObject([{ source }])
    await expect(shown(source, 'bob')).rejects.toThrow('not under an allowed root')
    symlinkSync('/etc', at('shared', 'etc'))
    await expect(shown(at('shared', 'etc'), 'ada')).rejects.toThrow('/etc')
  })
})
