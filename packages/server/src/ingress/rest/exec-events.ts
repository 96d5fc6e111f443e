/**
 * One execution as server-sent events: `started`, then `stdout` and `stderr` as they come, then `exit` (or `error`).
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * A failure before the command started is an ordinary problem response; later ones are told in-band, so a stream that just
 * stops is never mistaken for success. A reader who is slow slows the program down; one who leaves cancels it.
 */
import { StringDecoder } from 'node:string_decoder'
import type { ExecOutputEvent, ExecStartedEvent } from '@holdfast/protocol'
import type { OutputChunk } from '../../guest/inside.ts'
import type { Started } from '../../sessions/sessions.ts'
import { exitEvent } from './exit-event.ts'
import { problemDocument } from './problems.ts'

/** Proxies close a connection that stays silent for about a minute. */
const KEEP_ALIVE_MS = 15_000

type Run = <T>(attend: (started: Started) => Promise<T>) => Promise<T>

export async function executionEvents(run: Run, requestId: string): Promise<Response> {
  const response = Promise.withResolvers<Response>()
  // `run` ends only after the last event; the response is needed as soon as the command has started.
  run(async (started) => {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
    const events = eventWriter(writable.getWriter())
    response.resolve(eventResponse(readable, requestId))
    await relay(started, events, requestId)
  }).catch(response.reject)
  return response.promise
}

async function relay(started: Started, events: EventWriter, requestId: string): Promise<void> {
  const decoders = { stdout: new StringDecoder('utf8'), stderr: new StringDecoder('utf8') }
  let lastSeq = 0
  const opening: ExecStartedEvent = { execution_id: started.executionId, session: started.session }
  try {
    await events.send('started', opening)
    const end = await started.finish(({ channel, bytes, seq }: OutputChunk) => {
      lastSeq = seq
      const data = decoders[channel].write(bytes)
      const event: ExecOutputEvent = { data, seq }
      return data === '' ? undefined : events.send(channel, event)
    })
    for (const channel of ['stdout', 'stderr'] as const) {
      const rest = decoders[channel].end()
      if (rest !== '') await events.send(channel, { data: rest, seq: lastSeq })
    }
    await events.send('exit', exitEvent(started, end))
  } catch (error) {
    await events.send('error', problemDocument(error, requestId))
  } finally {
    await events.end()
  }
}

interface EventWriter {
  send(event: string, data: object): Promise<void>
  end(): Promise<void>
}

/** Writing to a reader who left is not an error here: the request's signal already cancels the execution. */
function eventWriter(writer: WritableStreamDefaultWriter<Uint8Array>): EventWriter {
  const encoder = new TextEncoder()
  const write = (text: string) => writer.write(encoder.encode(text)).catch(() => {})
  const keepAlive = setInterval(() => void write(': still running\n\n'), KEEP_ALIVE_MS)
  return {
    send: (event, data) => write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`),
    end() {
      clearInterval(keepAlive)
      return writer.close().catch(() => {})
    },
  }
}

function eventResponse(body: ReadableStream<Uint8Array>, requestId: string): Response {
  const headers = {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
    'x-request-id': requestId,
  }
  return new Response(body, { headers })
}
