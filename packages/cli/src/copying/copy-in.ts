/**
 * From this machine into a session: a file, a directory, or what comes on stdin.
 */
import { open, stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { isHoldfastError } from '@holdfast/protocol/errors'
import type { FileEntry, Session } from '@holdfast/sdk'
import { note } from '../failure.ts'
import { wrongUse } from '../flags/session-flags.ts'
import { localFailure } from './local-failure.ts'
import { packDirectory } from './pack.ts'
import { startProgress } from './progress.ts'

export async function copyIn(session: Session, source: string, path: string, signal: AbortSignal): Promise<void> {
  if (source === '-') {
    if (path.endsWith('/') || path === '.') throw wrongUse('stdin has no name; say which file it becomes')
    await send(session, path, process.stdin, '-', null, undefined, signal)
    return
  }
  const local = await stat(source).catch(localFailure)
  if (local.isDirectory()) return copyDirectory(session, source, path, signal)
  const file = await open(source, 'r').catch(localFailure)
  try {
    const target = await intoDirectory(session, path, basename(source))
    const mode = (local.mode & 0o777).toString(8).padStart(4, '0')
    await send(session, target, file.createReadStream({ autoClose: false }), source, local.isFile() ? local.size : null, mode, signal)
  } finally {
    await file.close()
  }
}

/** As `cp -r`: into a directory that is there, or as the directory that is not. `source/.` is what is in it. */
async function copyDirectory(session: Session, source: string, path: string, signal: AbortSignal): Promise<void> {
  const isContent = /(^|\/)\.$/.test(source)
  const target = isContent ? path : await intoDirectory(session, path, basename(resolve(source)))
  const progress = startProgress(source, null)
  try {
    const archive = packDirectory(source, (skipped) => note(`${skipped} is neither a file, a directory nor a link, and was left out`))
    await session.files.upload(target, streamOf(progress.count(archive)), { signal })
  } catch (error) {
    throw isHoldfastError(error) ? error : localFailure(error)
  } finally {
    progress.end()
  }
}

async function send(
  session: Session,
  path: string,
  bytes: AsyncIterable<Uint8Array>,
  name: string,
  size: number | null,
  mode: string | undefined,
  signal: AbortSignal,
): Promise<FileEntry> {
  const progress = startProgress(name, size)
  try {
    return await session.files.write(path, streamOf(progress.count(bytes)), { mode, signal })
  } finally {
    progress.end()
  }
}

/** The name that it has then. */
async function intoDirectory(session: Session, path: string, name: string): Promise<string> {
  const isDirectory = path.endsWith('/') || (await typeOf(session, path)) === 'directory'
  return isDirectory ? `${path.replace(/(?<!\/)\/+$/, '')}/${name}` : path
}

async function typeOf(session: Session, path: string): Promise<FileEntry['type'] | null> {
  try {
    return (await session.files.stat(path, { follow: true })).type
  } catch (error) {
    if (isHoldfastError(error, 'file_not_found')) return null
    throw error
  }
}

function streamOf(pieces: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  return ReadableStream.from(pieces)
}
