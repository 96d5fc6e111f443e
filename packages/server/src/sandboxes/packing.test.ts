/** A packed sandbox that would not keep its users apart is refused, with the reason. */
import { expect, test } from 'vitest'
import type { Capabilities } from './backend.ts'
import { assertPackable, PACKED_UIDS, packedPaths } from './packing.ts'
import type { PackedUsers, SandboxSpec } from './spec.ts'

const PACKED: PackedUsers = { source: '/state/packed', firstUid: PACKED_UIDS.first, count: PACKED_UIDS.count, pidsPerUid: 32 }
const SPEC: SandboxSpec = {
  image: null,
  network: 'off',
  rootfs: 'read-only',
  mounts: [{ source: '/a', target: '/mnt/a', mode: 'ro' }],
  limits: { cpus: null, memoryBytes: null, pids: null, tmpBytes: 4096, openFiles: 64 },
}
const ABLE: Capabilities = {
  limits: { cpus: true, memory: true, pids: true },
  networkOn: true,
  images: true,
  writableRoot: true,
  rootUser: true,
  severalUsers: true,
  packing: true,
  reasons: {},
}
const last = PACKED_UIDS.first + PACKED_UIDS.count - 1

test('the uids are nobody else’s: not negative to a program, and above those that hosts and directories give', () => {
  expect(PACKED_UIDS.first).toBeGreaterThan(2_000_200_000)
  expect(last).toBeLessThan(2 ** 31)
})

test('the whole range, a part of it and a sandbox that is not packed are accepted', () => {
  expect(() => assertPackable('docker', ABLE, { ...SPEC, packed: PACKED })).not.toThrow()
  expect(() => assertPackable('docker', ABLE, { ...SPEC, packed: { ...PACKED, firstUid: last, count: 1 } })).not.toThrow()
  expect(() => assertPackable('docker', { ...ABLE, packing: false }, SPEC)).not.toThrow()
})

test.each<[string, Partial<SandboxSpec>, Partial<PackedUsers>]>([
  ['are not within', {}, { firstUid: 0 }],
  ['are not within', {}, { firstUid: 1000, count: 1 }],
  ['are not within', {}, { firstUid: PACKED_UIDS.first - 1, count: 1 }],
  ['are not within', {}, { firstUid: last, count: 2 }],
  ['are not within', {}, { count: 0 }],
  ['are not within', {}, { count: Number.NaN }],
  ['are not within', {}, { firstUid: PACKED_UIDS.first + 0.5, count: 1 }],
  ['0 processes per uid', {}, { pidsPerUid: 0 }],
  ['a writable root', { rootfs: 'writable' }, {}],
  ['the writable mount at /data', { mounts: [{ source: '/a', target: '/data', mode: 'rw' }] }, {}],
  ['a mount at /sessions would', { mounts: [{ source: '/a', target: '/sessions', mode: 'ro' }] }, {}],
  ['a mount at /sessions/x would', { mounts: [{ source: '/a', target: '/sessions/x', mode: 'ro' }] }, {}],
])('refused: %s', (message, wish, packed) => {
  const attempt = () => assertPackable('docker', ABLE, { ...SPEC, ...wish, packed: { ...PACKED, ...packed } })
  expect(attempt).toThrow(expect.objectContaining({ code: 'capability_unsupported', message: expect.stringContaining(message) }))
})

test('where it cannot be done the reason is said', () => {
  const unable = { ...ABLE, packing: false, reasons: { packing: 'start the server as root' } }
  const attempt = () => assertPackable('docker', unable, { ...SPEC, packed: PACKED })
  expect(attempt).toThrow(
    expect.objectContaining({ code: 'capability_unsupported', message: expect.stringContaining('start the server as root') }),
  )
})

test('a session has its places by its id, and an id that is no name has none', () => {
  expect(packedPaths('ses_1')).toEqual({ home: '/sessions/ses_1/home', workspace: '/sessions/ses_1/workspace' })
  for (const id of ['', '.', '..', 'a/b', '../x', '-x', 'a b', 'x'.repeat(200)])
    expect(() => packedPaths(id), id).toThrow(expect.objectContaining({ code: 'invalid_request' }))
})
