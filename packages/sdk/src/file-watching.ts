/**
 * Changes below a path, as they happen.
 *
 * A watch has no past: what changed while a connection was broken is not told one by one. It is told that something may be missing, as
 * `overflow`, the same as when there were too many changes at once.
 */
import type { StreamOptions } from './call-options.ts'
import { parsed } from './exec.ts'
import { follow } from './transport/follow.ts'
import { linkedSignal } from './transport/patience.ts'
import type { Transport } from './transport/transport.ts'

export type FileChangeType = 'create' | 'write' | 'remove' | 'rename' | 'chmod' | 'overflow'

export interface FileChange {
  /** `overflow`: changes were missed; look anew. */
  readonly type: FileChangeType
  readonly path: string
}

export interface WatchOptions extends StreamOptions {
  /** Everything below, too. */
  readonly recursive?: boolean | undefined
}

const CHANGES: readonly string[] = ['create', 'write', 'remove', 'rename', 'chmod', 'overflow'] satisfies readonly FileChangeType[]

interface WatchNeeds {
  readonly transport: Transport
  /** Of the route. */
  readonly path: string
  /** Inside the sandbox. */
  readonly watched: string
  readonly letGo: AbortSignal
}

/** Resolves when the watch stands: what changes from then on is seen. */
export async function watchFiles(needs: WatchNeeds, options: WatchOptions): Promise<AsyncIterableIterator<FileChange>> {
  const changes = changesOf(needs, options)
  // The first one says that it is ready.
  await changes.next()
  return changes
}

async function* changesOf(
  { transport, path, watched, letGo }: WatchNeeds,
  { recursive, signal, reconnectMs }: WatchOptions,
): AsyncGenerator<FileChange, void, void> {
  const linked = linkedSignal(signal, letGo)
  const following = {
    request: () => ({ path, query: { path: watched, recursive } }),
    signal: linked.signal,
    ...(reconnectMs === undefined ? {} : { reconnectMs }),
  }
  try {
    for await (const { event, data } of follow(transport, following)) {
      // The first `ready` is awaited by the caller; a later one means that the connection was lost in between.
      if (event === 'ready') yield { type: 'overflow', path: watched }
      else if (isChange(event)) yield { type: event, path: parsed<{ readonly path?: string }>(data).path ?? watched }
    }
  } catch (error) {
    if (!letGo.aborted || signal?.aborted === true) throw error
  } finally {
    linked.end()
  }
}

function isChange(event: string): event is FileChangeType {
  return CHANGES.includes(event)
}
