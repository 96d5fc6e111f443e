/**
 * A directory or a file as a tar archive, made as it is read.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import type { Readable } from 'node:stream'
import type { Place } from '../insides.ts'
import { splitPath } from './inner-path.ts'
import { pulledStream } from './pulled-stream.ts'
import { startTar } from './tar.ts'
import type { Tar } from './tar.ts'

/** Resolves with the first bytes, so that a failure before them is one of the call. A later one makes the stream fail. */
export async function packFiles(place: Place, path: string, signal: AbortSignal): Promise<{ readonly content: Readable }> {
  const { type } = await place.inside.files.stat(path, { ...place.as, follow: true })
  const { directory, name } = splitPath(path)
  // Names follow `./`, so that none is taken for an option.
  const [from, what] = type === 'directory' ? [path, '.'] : [directory, `./${name}`]
  const tar = await startTar(place, ['-c', '-f', '-', '-C', from, what], 'none', signal)
  const leave = () => tar.execution.detach()
  signal.addEventListener('abort', leave, { once: true })
  const pieces = archivePieces(tar)
  const first = await pieces.next()
  let isFirst = true
  const content = pulledStream({
    async next() {
      const piece = isFirst ? first : await pieces.next()
      isFirst = false
      place.note()
      return piece.done === true ? null : piece.value
    },
    leave() {
      signal.removeEventListener('abort', leave)
      leave()
    },
  })
  return { content }
}

async function* archivePieces({ execution, hear, failure }: Tar): AsyncGenerator<Uint8Array, undefined> {
  for await (const { channel, bytes } of execution.output) {
    if (channel === 'stderr') hear(bytes)
    else yield bytes
  }
  const failed = failure(await execution.exit)
  if (failed !== null) throw failed
  return undefined
}
