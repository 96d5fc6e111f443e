/** Input from a stream, piece by piece. */
import { expect, test } from 'vitest'
import { HoldfastError } from './errors.ts'
import type { Execution } from './execution.ts'
import { feed } from './feeding.ts'

type Writer = Pick<Execution, 'write' | 'closeStdin'>

/** Only the input of it is used. */
const taking = (writer: Writer) => writer as Execution
const failing = (code: string) => async () => {
  throw new HoldfastError({ code, message: code })
}
const signal = new AbortController().signal

test('every piece is written in order, then the end', async () => {
  const taken: string[] = []
  const write: Writer['write'] = async (data) => void taken.push(new TextDecoder().decode(data as Uint8Array))
  const closeStdin = async () => void taken.push('end')
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const word of ['one', 'two']) controller.enqueue(new TextEncoder().encode(word))
      controller.close()
    },
  })
  await feed(taking({ write, closeStdin }), stream, signal).done
  expect(taken).toEqual(['one', 'two', 'end'])
})

test('a program that has ended is no failure, and the stream is let go of', async () => {
  let isCancelled = false
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(Uint8Array.of(1)),
    cancel: () => void (isCancelled = true),
  })
  const closeStdin = async () => undefined
  await feed(taking({ write: failing('execution_ended'), closeStdin }), endless, signal).done
  expect(isCancelled).toBe(true)
  await feed(taking({ write: failing('not_interactive'), closeStdin }), 'x', signal).done
})

test('input that was not delivered to a program that runs is a failure', async () => {
  const { done } = feed(taking({ write: failing('input_uncertain'), closeStdin: async () => undefined }), 'x', signal)
  await expect(done).rejects.toMatchObject({ code: 'input_uncertain' })
})

test('who stops a feeding that waits for its stream is not kept', async () => {
  const silent = new ReadableStream<Uint8Array>()
  const stopped = new AbortController()
  const feeding = feed(taking({ write: async () => undefined, closeStdin: failing('execution_ended') }), silent, stopped.signal)
  stopped.abort()
  feeding.stop()
  await feeding.done
})
