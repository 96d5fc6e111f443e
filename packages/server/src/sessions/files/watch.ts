/**
 * What changes below a directory, until the watcher leaves or the sandbox goes.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import type { WatchEvent } from '../../guest/inside.ts'
import type { Place } from '../insides.ts'

export interface Watch {
  /** Paths are absolute. Rejects when the sandbox goes; ends when the watcher leaves. */
  readonly events: AsyncIterable<WatchEvent>
  /** Leaves, at once. */
  end(): void
}

/** `root` is absolute, inside. Resolves once every change from now on will be seen; `onOver` is called when the watch ends after that. */
export async function watchBelow(
  { inside, as }: Place,
  root: string,
  recursive: boolean,
  signal: AbortSignal,
  onOver: () => void,
): Promise<Watch> {
  const opening = new AbortController()
  const giveUp = () => opening.abort(signal.reason)
  if (signal.aborted) giveUp()
  signal.addEventListener('abort', giveUp, { once: true })
  const watched = await inside.files.watch(root, { ...as, recursive, signal: opening.signal }).finally(() => {
    signal.removeEventListener('abort', giveUp)
  })
  const iterator = watched[Symbol.asyncIterator]()
  const base = root.replace(/(?<!\/)\/+$/, '')
  const next = async (): Promise<IteratorResult<WatchEvent, undefined>> => {
    const { done, value } = await iterator.next().catch((error: unknown) => {
      onOver()
      throw error
    })
    if (done === true) onOver()
    return done === true
      ? { done, value: undefined }
      : { done: false, value: { ...value, path: value.path === '' ? root : `${base}/${value.path}` } }
  }
  const end = () => {
    onOver()
    void iterator.return?.()
  }
  return { events: { [Symbol.asyncIterator]: () => ({ next, return: async () => (end(), { done: true, value: undefined }) }) }, end }
}
