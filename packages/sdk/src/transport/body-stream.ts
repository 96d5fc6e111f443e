/**
 * The bytes of an answer as they come, with failures that say what they are.
 */
import type { OpenAnswer } from './transport.ts'

/** Ends the answer when it is read, or left. One that is shorter than it said is broken. */
export async function* bodyPieces({ response, broken, close }: OpenAnswer): AsyncGenerator<Uint8Array, void, void> {
  const announced = response.headers.get('content-encoding') === null ? Number(response.headers.get('content-length') ?? 0) : 0
  const reader = (response.body ?? new Blob([]).stream()).getReader()
  let count = 0
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        throw broken(cause)
      })
      if (done) break
      count += value.length
      yield value
    }
  } finally {
    reader.cancel().catch(() => undefined)
    close()
  }
  if (count < announced) throw broken(new Error(`${announced - count} of ${announced} bytes are missing`))
}

/** As a stream that asks for no more than is read. `onCancel` ends what a piece is being waited for from. */
export function streamOfPieces(pieces: AsyncGenerator<Uint8Array, void, void>, onCancel: () => void): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await pieces.next()
        if (done === true) controller.close()
        else controller.enqueue(value)
      },
      async cancel() {
        onCancel()
        await pieces.return()
      },
    },
    { highWaterMark: 0 },
  )
}
