/**
 * Bytes between somebody who brings them and somebody who fetches them later, with a mark above which no more should be brought.
 */
import { promised } from './promised.ts'

export interface ByteQueue extends AsyncIterable<Uint8Array> {
  push(bytes: Uint8Array): void
  isFull(): boolean
  /** Resolves when it is empty, or over. */
  drained(): Promise<void>
  /** What is there can still be fetched. `error` is thrown after that. */
  end(error?: Error): void
}

export function createByteQueue(fullAt: number): ByteQueue {
  const pieces: Uint8Array[] = []
  let size = 0
  let over: { readonly error: Error | undefined } | null = null
  let changed = promised<void>()
  const isWaitedFor = () => size > 0 && over === null

  function stir(): void {
    changed.resolve()
    changed = promised()
  }

  async function* read(): AsyncGenerator<Uint8Array, void, void> {
    for (;;) {
      const piece = pieces.shift()
      if (piece !== undefined) {
        size -= piece.length
        if (size === 0) stir()
        yield piece
      } else if (over === null) await changed.promise
      else if (over.error === undefined) return
      else throw over.error
    }
  }

  return {
    push(bytes) {
      if (over !== null) return
      pieces.push(bytes)
      size += bytes.length
      stir()
    },
    isFull: () => size >= fullAt,
    async drained() {
      while (isWaitedFor()) await changed.promise
    },
    end(error) {
      over ??= { error }
      stir()
    },
    [Symbol.asyncIterator]: read,
  }
}
