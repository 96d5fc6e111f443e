/**
 * From a session to this machine: a file, a directory, or either to stdout.
 *
 * A file appears under its name when it is whole.
 */
import { randomBytes } from 'node:crypto'
import { open, rename, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { isHoldfastError } from '@holdfast/protocol/errors'
import type { FileEntry, Session } from '@holdfast/sdk'
import { note } from '../failure.ts'
import { write } from '../output/print.ts'
import { localFailure } from './local-failure.ts'
import { startProgress } from './progress.ts'
import { unpackInto } from './unpack.ts'

export async function copyOut(session: Session, path: string, target: string, signal: AbortSignal): Promise<void> {
  const entry = await session.files.stat(path, { follow: true })
  const isDirectory = entry.type === 'directory'
  const bytes = isDirectory ? await session.files.download(path, { signal }) : await session.files.readStream(path, { signal })
  const progress = startProgress(path, isDirectory ? null : entry.size)
  try {
    const counted = progress.count(bytes)
    if (target === '-') for await (const piece of counted) await write(piece)
    else if (isDirectory) await copyDirectory(counted, /(^|\/)\.$/.test(path) ? target : await intoDirectory(target, entry), progress.say)
    else await copyFile(counted, await intoDirectory(target, entry), entry)
  } catch (error) {
    throw isHoldfastError(error) || signal.aborted ? error : localFailure(error)
  } finally {
    progress.end()
  }
}

async function copyDirectory(archive: AsyncIterable<Uint8Array>, target: string, onFile: (name: string) => void): Promise<void> {
  const { skipped } = await unpackInto(target, archive, onFile)
  if (skipped.length > 0)
    note(`${skipped.length} things that are neither files, directories nor links were left out, such as ${skipped[0]}`)
}

async function copyFile(bytes: AsyncIterable<Uint8Array>, target: string, { mode }: FileEntry): Promise<void> {
  if (await isDevice(target)) return writeInto(target, 'w', bytes, 0)
  const draft = `${target}.${randomBytes(6).toString('hex')}.part`
  try {
    await writeInto(draft, 'wx', bytes, Number.parseInt(mode, 8) & 0o777)
    await rename(draft, target)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

async function writeInto(path: string, how: 'w' | 'wx', bytes: AsyncIterable<Uint8Array>, mode: number): Promise<void> {
  const file = await open(path, how, mode)
  try {
    for await (const piece of bytes) await file.writeFile(piece)
  } finally {
    await file.close()
  }
}

/** Such as /dev/null or a named pipe: written into, never replaced. */
async function isDevice(path: string): Promise<boolean> {
  try {
    return !(await stat(path)).isFile()
  } catch {
    // Decision: whatever is wrong with it is told when it is written.
    return false
  }
}

/** As `cp`: into a directory that is there, or under the name that is given. */
async function intoDirectory(target: string, { path }: FileEntry): Promise<string> {
  const isDirectory = target.endsWith('/') || (await isLocalDirectory(target))
  return isDirectory ? join(target, basename(path)) : target
}

async function isLocalDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory()
  } catch {
    // Decision: whatever is wrong with it is told when it is written.
    return false
  }
}
