/**
 * Everything in a package, one after the other, through no link and within bounds: to tell whether it changed, and to copy it.
 *
 * Stands beside the flow.
 */
import { createHash } from 'node:crypto'
import type { BigIntStats } from 'node:fs'
import { chmod, copyFile, lchown, lstat, mkdir, readlink, symlink } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import { hasErrorCode } from '../home/error-code.ts'
import type { SandboxUser } from '../sandboxes/spec.ts'
import { entriesOf, inside, itself, openBelow, openDirectory, openFile, withDirectory } from './directory-handle.ts'

/** A Python environment has many files, and is still one package. */
const MAXIMUM_ENTRIES = 20_000
const MAXIMUM_BYTES = 512 * 1024 * 1024
const MAXIMUM_DEPTH = 32

interface Item {
  /** From the top of the package. */
  readonly names: readonly string[]
  readonly parent: FileHandle
  readonly name: string
  readonly status: BigIntStats
}

/** The same text as long as nothing in the package changed; nothing is read but names and status. */
export async function markOf(packageRoot: string): Promise<string> {
  return withDirectory(openDirectory(packageRoot), async (top) => {
    const hash = createHash('sha256')
    for await (const { names, status } of walk(top)) {
      const { ino, mode, size, mtimeNs, ctimeNs } = status
      hash.update(JSON.stringify([names, [ino, mode, size, mtimeNs, ctimeNs].map(String)]))
    }
    return hash.digest('hex')
  })
}

/** Into a new directory of the server's, which belongs to `user` afterwards with all that is in it. Links stay links; devices and pipes are left out. */
export async function copyPackage(packageRoot: string, into: string, user: SandboxUser): Promise<void> {
  await mkdir(into, { mode: 0o755 })
  await withDirectory(openDirectory(packageRoot), async (top) => {
    for await (const item of walk(top)) await copyItem(item, join(into, ...item.names), user)
  })
  await settle(into, 0o755, user)
}

async function copyItem({ parent, name, status }: Item, target: string, user: SandboxUser): Promise<void> {
  if (status.isDirectory()) {
    await mkdir(target, { mode: 0o755 })
    await settle(target, 0o755, user)
  } else if (status.isSymbolicLink()) {
    await symlink(await readlink(inside(parent, name)), target)
    await settle(target, null, user)
  } else if (status.isFile()) {
    const file = await openFile(parent, name)
    try {
      await copyFile(itself(file), target)
    } finally {
      await file.close()
    }
    await settle(target, (Number(status.mode) & 0o777) | 0o600, user)
  }
}

async function settle(path: string, mode: number | null, { uid, gid }: SandboxUser): Promise<void> {
  if (mode !== null) await chmod(path, mode)
  // Nobody but root has another user to give it to.
  if (process.geteuid?.() === 0) await lchown(path, uid, gid)
}

async function* walk(top: FileHandle): AsyncGenerator<Item, void, void> {
  yield* walkBelow(top, [], { entries: MAXIMUM_ENTRIES, bytes: BigInt(MAXIMUM_BYTES) })
}

async function* walkBelow(
  directory: FileHandle,
  above: readonly string[],
  room: { entries: number; bytes: bigint },
): AsyncGenerator<Item, void, void> {
  const { entries, isTruncated } = await entriesOf(directory, room.entries)
  room.entries -= entries.length
  if (isTruncated) throw tooLarge(`has more than ${MAXIMUM_ENTRIES} entries`)
  if (above.length === MAXIMUM_DEPTH && entries.length > 0) throw tooLarge(`is more than ${MAXIMUM_DEPTH} directories deep`)
  for (const { name, status } of await Promise.all(entries.map((entry) => statusIn(directory, entry.name)))) {
    if (status === null) continue
    if (status.isFile()) room.bytes -= status.size
    if (room.bytes < 0n) throw tooLarge(`is larger than ${MAXIMUM_BYTES} bytes`)
    const names = [...above, name]
    yield { names, parent: directory, name, status }
    if (!status.isDirectory()) continue
    const child = await openBelow(directory, [name])
    try {
      yield* walkBelow(child, names, room)
    } finally {
      await child.close()
    }
  }
}

async function statusIn(directory: FileHandle, name: string) {
  const status = await lstat(inside(directory, name), { bigint: true }).catch((error: unknown) => {
    // Gone since, or its name is no text.
    if (hasErrorCode(error, 'ENOENT')) return null
    throw error
  })
  return { name, status }
}

function tooLarge(why: string): HoldfastError {
  return new HoldfastError('payload_too_large', `the package ${why}`)
}
