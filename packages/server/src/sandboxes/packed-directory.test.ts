/** The places of packed sessions: who owns what, and what is in the way is never followed. Only root can try. */
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { assertPackedSource, makePackedPlace, makePackedSource, removePackedPlace } from './packed-directory.ts'
import { PACKED_UIDS } from './packing.ts'
import { isServerRoot } from './sandbox-user.ts'
import type { SandboxSpec } from './spec.ts'

const UID = PACKED_UIDS.first + 7
let directory = ''
let source = ''

beforeEach(() => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-packed-')))
  source = join(directory, 'source')
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

function ownerAndMode(path: string): string {
  const { uid, gid, mode } = lstatSync(path)
  return `${uid}:${gid} ${(mode & 0o7777).toString(8)}`
}

function spec(place = source): SandboxSpec {
  const limits = { cpus: null, memoryBytes: null, pids: null, tmpBytes: 4096, openFiles: 64 }
  const packed = { source: place, firstUid: UID, count: 1, pidsPerUid: 8 }
  return { image: null, network: 'off', rootfs: 'read-only', mounts: [], limits, packed }
}

describe.runIf(isServerRoot())('as root', () => {
  test('the way to a place is root’s and not listable, the place is the session’s alone', async () => {
    await makePackedSource(source)
    await makePackedPlace(source, 'ses_1', UID)
    await assertPackedSource(spec())
    for (const path of ['.', 'ses_1']) expect(ownerAndMode(join(source, path)), path).toBe('0:0 711')
    for (const path of ['home', 'home/.tmp', 'workspace']) expect(ownerAndMode(join(source, 'ses_1', path)), path).toBe(`${UID}:${UID} 700`)
  })

  test('making again keeps what is there, also what a crash left half made', async () => {
    await makePackedSource(source)
    mkdirSync(join(source, 'ses_1/home'), { recursive: true })
    await makePackedPlace(source, 'ses_1', UID)
    writeFileSync(join(source, 'ses_1/home/kept'), 'kept')
    rmSync(join(source, 'ses_1/home/.tmp'), { recursive: true })
    symlinkSync('/etc', join(source, 'ses_1/home/.tmp'))
    await makePackedSource(source)
    await makePackedPlace(source, 'ses_1', UID)
    expect(existsSync(join(source, 'ses_1/home/kept'))).toBe(true)
    expect(lstatSync('/etc').uid).toBe(0)
    expect(ownerAndMode(join(source, 'ses_1/home'))).toBe(`${UID}:${UID} 700`)
  })

  test('a link in the way is refused and not followed', async () => {
    await makePackedSource(source)
    const elsewhere = join(directory, 'elsewhere')
    mkdirSync(elsewhere)
    symlinkSync(elsewhere, join(source, 'ses_1'))
    await expect(makePackedPlace(source, 'ses_1', UID)).rejects.toMatchObject({ code: 'mount_refused' })
    expect(existsSync(join(elsewhere, 'home'))).toBe(false)
    await removePackedPlace(source, 'ses_1')
    expect(existsSync(elsewhere)).toBe(true)
  })

  test('a place of another uid is refused', async () => {
    await makePackedSource(source)
    await makePackedPlace(source, 'ses_1', UID)
    await expect(makePackedPlace(source, 'ses_1', UID + 1)).rejects.toMatchObject({ code: 'mount_refused' })
  })

  test('removing takes the place, not what its links lead to, and may be repeated', async () => {
    await makePackedSource(source)
    await makePackedPlace(source, 'ses_1', UID)
    writeFileSync(join(directory, 'precious'), 'kept')
    symlinkSync(directory, join(source, 'ses_1/workspace/link'))
    await removePackedPlace(source, 'ses_1')
    await removePackedPlace(source, 'ses_1')
    expect(existsSync(join(source, 'ses_1'))).toBe(false)
    expect(existsSync(join(directory, 'precious'))).toBe(true)
    await expect(removePackedPlace(source, '../source')).rejects.toMatchObject({ code: 'invalid_request' })
  })

  test.each<[string, () => void]>([
    ['it does not exist', () => rmSync(source, { recursive: true })],
    ['mode 0755', () => chmodSync(source, 0o755)],
    ['is one of 1000', () => chownSync(source, 1000, 0)],
  ])('a source that keeps nobody apart is refused: %s', async (message, spoil) => {
    await makePackedSource(source)
    spoil()
    await expect(assertPackedSource(spec())).rejects.toMatchObject({ code: 'mount_refused', message: expect.stringContaining(message) })
  })

  test('a source by way of a link is refused', async () => {
    await makePackedSource(source)
    symlinkSync(source, join(directory, 'link'))
    await expect(assertPackedSource(spec(join(directory, 'link')))).rejects.toMatchObject({ code: 'mount_refused' })
  })
})

test('a sandbox that is not packed needs no source', async () => {
  const { packed: _, ...usual } = spec()
  await expect(assertPackedSource(usual)).resolves.toBeUndefined()
})
