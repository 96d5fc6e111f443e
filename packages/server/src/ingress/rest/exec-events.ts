/**
 * One execution as server-sent events: `started`, then `stdout` and `stderr` as they come, then `exit` (or `error`).
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * A failure before the command started is an ordinary problem response; later ones are told in-band, so a stream that just
 * stops is never mistaken for success. A reader who is slow slows the program down; one who leaves cancels it.
 */
import type { ExecOutputEvent, ExecStartedEvent } from '@holdfast/protocol'
import type { OutputChunk } from '../../guest/inside.ts'
import type { Started } from '../../sessions/running.ts'
import { openEventStream } from './event-stream.ts'
import type { EventStream } from './event-stream.ts'
import { exitEvent } from './exit-event.ts'
import { outputEncoder } from './output-page.ts'
import type { OutputEncoding, OutputPiece } from './output-page.ts'
import type { Visit } from './route.ts'

type Run = <T>(attend: (started: Started) => Promise<T>) => Promise<T>

export async function executionEvents(run: Run, visit: Visit, encoding: OutputEncoding): Promise<Response> {
  const response = Promise.withResolvers<Response>()
  // Counted first: a stream that is refused must not have started a command.
  const closed = visit.streamOpened?.() ?? (() => undefined)
  // `run` ends only after the last event; the response is needed as soon as the command has started.
  run(async (started) => {
    const stream = openEventStream({ ...visit, streamOpened: () => closed })
    response.resolve(stream.response)
    await relay(started, stream, visit, encoding)
  }).catch((error: unknown) => {
    closed()
    response.reject(error)
  })
  return response.promise
}

async function relay(started: Started, stream: EventStream, visit: Visit, encoding: OutputEncoding): Promise<void> {
  const encoder = outputEncoder(encoding)
  let lastSeq = 0
  const opening: ExecStartedEvent = { execution_id: started.executionId, session: started.session }
  try {
    await stream.send({ event: 'started', data: opening })
    const send = ({ channel, data, seq }: OutputPiece) => {
      const event: ExecOutputEvent = { data, seq }
      return stream.send({ event: channel, data: event })
    }
    const end = await started.finish(async (chunk: OutputChunk) => {
      const skippedBytes = chunk.seq - chunk.bytes.length - lastSeq
      lastSeq = chunk.seq
      const pieces = encoder.piece(chunk)
      if (skippedBytes > 0) await stream.send({ event: 'gap', data: { skipped_bytes: skippedBytes, seq: lastSeq - chunk.bytes.length } })
      for (const piece of pieces) await send(piece)
    })
    for (const piece of encoder.rest(lastSeq)) await send(piece)
    await stream.send({ event: 'exit', data: exitEvent(started, end) })
  } catch (error) {
    await stream.send({ event: 'error', data: visit.problemOf(error) })
  } finally {
    await stream.end()
  }
}
