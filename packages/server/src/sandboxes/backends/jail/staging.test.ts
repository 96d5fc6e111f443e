/** Every source goes through the launcher, in its directory or as a descriptor. */
import { expect, test } from 'vitest'
import type { ViewEntry } from './filesystem-view.ts'
import { exchangedOwners } from '../owner-map.ts'
import { stageView } from './staging.ts'

const AS_ROOT = { kind: 'as-root', owners: { user: 1000, root: 65_533 }, mapsOwners: true, overlayOwners: '0 1000 1\n' } as const
const VIEW: readonly ViewEntry[] = [
  { kind: 'bind', source: '/usr', target: '/usr', mode: 'ro' },
  { kind: 'proc' },
  { kind: 'tmpfs', target: '/tmp', sizeBytes: 8192, permissions: '1777', owner: 'root' },
  { kind: 'bind', source: '/a', target: '/workspace', mode: 'rw' },
  { kind: 'bind', source: '/b', target: '/workspace/x/y', mode: 'ro' },
]

test('in a directory, a mount inside another is put there by the launcher', () => {
  const { launcherFlags, entries } = stageView(VIEW, AS_ROOT)
  expect(launcherFlags).toEqual([
    ...['--stage-as-root', '/mnt', '--source-ro', '/usr'],
    ...['--tmpfs', 'size=8192,nr_inodes=1024,mode=1777,uid=65533,gid=65533'],
    ...['--source-rw', '/a', '--source-ro', '/b', '--below', '2', 'x/y'],
  ])
  expect(entries).toEqual([
    { kind: 'bind', from: { path: '/mnt/0' }, target: '/usr', mode: 'ro' },
    { kind: 'proc' },
    { kind: 'bind', from: { path: '/mnt/1' }, target: '/tmp', mode: 'rw' },
    { kind: 'bind', from: { path: '/mnt/2' }, target: '/workspace', mode: 'rw' },
  ])
})

test('a mount inside one that is inside another is put into the outermost', () => {
  const deeper: ViewEntry = { kind: 'bind', source: '/c', target: '/workspace/x/y/z', mode: 'ro' }
  expect(stageView([...VIEW, deeper], AS_ROOT).launcherFlags.slice(-3)).toEqual(['--below', '2', 'x/y/z'])
})

test('with an owner map, directories of the host have it and files of the session do not', () => {
  const ofHost: ViewEntry = { kind: 'bind', source: '/c', target: '/data', mode: 'rw', owner: 1000 }
  const mapped = { ...AS_ROOT, owners: { user: 2_010_000_000, root: 65_533 } }
  expect(stageView([...VIEW, ofHost], mapped).launcherFlags).toEqual([
    ...stageView(VIEW, AS_ROOT).launcherFlags,
    ...['--source-rw', '/c', '--owner-map', exchangedOwners(1000, 2_010_000_000)],
  ])
  expect(stageView([ofHost], AS_ROOT).launcherFlags).not.toContain('--owner-map')
})

test('an overlay has the owner map of overlays and may lie inside another mount', () => {
  const overlay: ViewEntry = { kind: 'overlay', source: '/var/lib/dpkg', target: '/workspace/dpkg', layer: '/layer' }
  expect(stageView([...VIEW, overlay], AS_ROOT).launcherFlags.slice(-8)).toEqual([
    ...['--overlay', '/var/lib/dpkg', '/layer', '--owner-map', '0 1000 1\n', '--below', '2', 'dpkg'],
  ])
  expect(() => stageView([overlay], { kind: 'descriptors' })).toThrow('cannot be handed over')
})

test('a neighbour whose name begins alike is no parent', () => {
  const neighbour: ViewEntry = { kind: 'bind', source: '/c', target: '/workspace-2', mode: 'ro' }
  expect(stageView([...VIEW, neighbour], AS_ROOT).entries.at(-1)).toMatchObject({ from: { path: '/mnt/4' } })
})

test('as descriptors, sources are numbered in their order and a tmpfs is left to the program', () => {
  const { launcherFlags, entries } = stageView(VIEW, { kind: 'descriptors' })
  expect(launcherFlags).toEqual(['--source-ro', '/usr', '--source-rw', '/a', '--source-ro', '/b'])
  expect(entries.map((entry) => (entry.kind === 'bind' ? entry.from : entry.kind))).toEqual([
    { descriptor: 10 },
    'proc',
    'tmpfs',
    { descriptor: 11 },
    { descriptor: 12 },
  ])
})

test('more mounts than the launcher takes are refused', () => {
  const many = Array.from({ length: 257 }, (_, index): ViewEntry => ({ kind: 'bind', source: '/a', target: `/data/${index}`, mode: 'ro' }))
  expect(() => stageView(many, { kind: 'descriptors' })).toThrow('257 mounts are more than the 256')
})
