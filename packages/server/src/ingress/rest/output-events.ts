/**
 * An execution's output as a stream: what is kept, then what comes, then how it ended.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * A reader who leaves changes nothing: the execution runs on, and the next stream goes on after the last `id`. A program that waits for its
 * readers is streamed in parts: each ends with `more`, and asking for the next one says that this one has arrived.
 */
import type { ExecutionOutputEvent } from '@holdfast/protocol'
import type { EventListeners } from '../../sessions/events/event-listeners.ts'
import { STREAM_BYTES } from '../../sessions/executions/reader-hold.ts'
import type { OutputLog, OutputPage, StoredOutput } from '../../sessions/executions/output-log.ts'
import type { Running } from '../../sessions/running.ts'
import type { ExecutionRow } from '../../store/tables/executions.ts'
import { followedStream } from './event-stream.ts'
import type { EventStream } from './event-stream.ts'
import { executionView } from './execution-view.ts'
import { timedEncoder } from './output-page.ts'
import type { OutputEncoding, TimedPiece } from './output-page.ts'
import type { Entered, Visit } from './route.ts'

/** How late an end is seen that another server writes. */
const LOOK_EVERY_MS = 1000

interface Reading {
  readonly output: StoredOutput | OutputLog
  readonly after: number
  readonly encoding: OutputEncoding
}

interface OutputEventsNeeds {
  readonly commands: Running
  readonly listeners: EventListeners
}

type OutputCall = Visit & Entered & { readonly params: { readonly id: string; readonly execution: string } }

export function outputEvents(call: OutputCall, { output, after, encoding }: Reading, needs: OutputEventsNeeds): Response {
  return followedStream(call, async (stream, signal) => {
    const encoder = timedEncoder(encoding)
    const held = 'follow' in output && output.isHeld === true ? output : null
    let seq = after
    for await (const page of pagesOf(output, after, signal)) {
      if (page.skippedBytes > 0) await stream.send({ event: 'gap', data: { skipped_bytes: page.skippedBytes, seq: page.seq } })
      for (const piece of page.chunks.flatMap((chunk) => encoder.piece(chunk))) await send(stream, piece)
      seq = page.seq
      if (held !== null && (seq - after >= STREAM_BYTES || (held.isWaiting === true && seq >= held.seq))) {
        for (const piece of encoder.rest(seq)) await send(stream, piece)
        return stream.send({ id: seq, event: 'more', data: { seq } })
      }
    }
    for (const piece of encoder.rest(seq)) await send(stream, piece)
    const ended = await untilEnded(call, needs, signal)
    if (ended !== null) await stream.send({ id: seq, event: 'exit', data: executionView(ended) })
  })
}

async function send(stream: EventStream, { channel, data, seq, at }: TimedPiece): Promise<void> {
  const event: ExecutionOutputEvent = { data, seq, at }
  await stream.send({ id: seq, event: channel, data: event })
}

async function* pagesOf(output: StoredOutput | OutputLog, after: number, signal: AbortSignal): AsyncGenerator<OutputPage, void, void> {
  if ('follow' in output) return yield* output.follow(after, signal)
  yield await output.read(after)
}

/** Its output is over a moment before its end is stored. `null` when the reader leaves first. */
async function untilEnded(
  { caller, params }: OutputCall,
  { commands, listeners }: OutputEventsNeeds,
  signal: AbortSignal,
): Promise<ExecutionRow | null> {
  let wake = Promise.withResolvers<void>()
  const stir = () => wake.resolve()
  const unlisten = listeners.listen(params.id, stir)
  const timer = setInterval(stir, LOOK_EVERY_MS)
  signal.addEventListener('abort', stir, { once: true })
  try {
    while (!signal.aborted) {
      // Before the look, so that an end during it is not slept through.
      wake = Promise.withResolvers()
      const row = await commands.get(caller, params.id, params.execution)
      if (row.status !== 'running') return row
      await wake.promise
    }
    return null
  } finally {
    unlisten()
    clearInterval(timer)
    signal.removeEventListener('abort', stir)
  }
}
