/**
 * What changes in a directory, as server-sent events.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import type { FileTarget, SessionFiles } from '../../sessions/session-files.ts'
import type { SessionReads } from '../../sessions/session-reads.ts'
import { followedStream } from './event-stream.ts'
import type { Visit } from './route.ts'

export interface FileWatchNeeds {
  readonly files: SessionFiles
  readonly reads: Pick<SessionReads, 'open'>
}

/** What keeps it from beginning is refused before the stream begins; the death of the sandbox ends it with `error`. */
export async function watchEvents(
  visit: Visit,
  target: FileTarget,
  { path, recursive }: { readonly path: string; readonly recursive: boolean },
  { files, reads }: FileWatchNeeds,
): Promise<Response> {
  const { events, end } = await files.watch(target, path, { recursive })
  /** The session may have been given to somebody else meanwhile. */
  const recheck = async () => {
    await visit.recheck()
    await reads.open(target.caller, 'files', target.sessionId)
  }
  try {
    return followedStream({ ...visit, recheck }, async (stream, signal) => {
      if (signal.aborted) end()
      signal.addEventListener('abort', end, { once: true })
      await stream.send({ event: 'ready', data: {} })
      for await (const { type, path: changed } of events) await stream.send({ event: type, data: { path: changed } })
    })
  } catch (error) {
    end()
    throw error
  }
}
