/**
 * The output of every managed process that runs, held from its start or taken up again after a restart of the server.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import { isHoldfastError } from '@holdfast/protocol'
import type { Caller } from '../caller.ts'
import type { OutputChunk } from '../../guest/inside.ts'
import type { OutputLog } from '../executions/output-log.ts'
import type { ProcessStream, ProcessStreams } from './process-streams.ts'
import { errorText } from '../../telemetry/log.ts'
import type { Log } from '../../telemetry/log.ts'
import { SEARCHED_BYTES } from './complaints.ts'
import { ProcessOutput } from './process-output.ts'
import type { LineRules } from './process-output.ts'
import type { ProcessPlaces } from './process-places.ts'

/** How often the place of a process that talks is written down. */
const PLACE_EVERY_MS = 1_000
/** Of those that ended, how many complaints are remembered at the most. */
const MAXIMUM_ENDED = 1_024

export interface ProcessRef {
  readonly sessionId: string
  readonly name: string
  readonly executionId: string
}

/** A process that runs, with the two ends of it that are passed on. */
export interface HeldProcess {
  readonly output: ProcessOutput
  readonly stream: ProcessStream
  /** Who is attached or waits for it, first come first. */
  readonly line: { last: Promise<void>; attached: number }
}

export interface ProcessOutputs {
  /** From its start on. One that has ended meanwhile is fine. */
  hold(caller: Caller, ref: ProcessRef, output: ProcessOutput): Promise<void>
  /** The one that is held, or one that ran before this server did. Throws `execution_ended`. */
  open(caller: Caller, ref: ProcessRef, rules?: LineRules): Promise<HeldProcess>
  held(executionId: string): HeldProcess | undefined
  /** What it complained of last; `null` when that is not remembered. */
  stderrOf(executionId: string): string | null
  savePlace(ref: ProcessRef): Promise<void>
  readonly counts: { readonly running: number; readonly ended: number }
  close(): Promise<void>
}

export interface ProcessOutputsNeeds {
  readonly streams: ProcessStreams
  readonly places: ProcessPlaces
  /** Of how many that ended anything is told. */
  readonly mostEnded: () => number
  readonly log: Log
}

export function createProcessOutputs({ streams, places, mostEnded, log }: ProcessOutputsNeeds): ProcessOutputs {
  const table = new Map<string, HeldProcess & { readonly ref: ProcessRef; savedSeq: number; saved: Promise<void> }>()
  const opening = new Map<string, Promise<HeldProcess>>()
  const ended = new Map<string, string>()

  function remember(executionId: string, text: string): void {
    ended.set(executionId, text)
    for (const oldest of ended.keys()) {
      if (ended.size <= Math.min(MAXIMUM_ENDED, mostEnded())) return
      ended.delete(oldest)
    }
  }

  function add(ref: ProcessRef, stream: ProcessStream, output: ProcessOutput): HeldProcess {
    const held = {
      ref,
      stream,
      output,
      line: { last: Promise.resolve(), attached: 0 },
      savedSeq: output.takenSeq,
      saved: Promise.resolve(),
    }
    table.set(ref.executionId, held)
    const over = () => {
      output.end()
      remember(ref.executionId, output.stderr)
      table.delete(ref.executionId)
    }
    // Let go of with the server: it runs on, and so does its place.
    stream.ended.then(over, () => undefined)
    return held
  }

  async function writePlace({ executionId, sessionId, name }: ProcessRef, output: ProcessOutput): Promise<void> {
    try {
      await places.writePlace(sessionId, name, { executionId, seq: output.takenSeq })
    } catch (error) {
      // Decision: without it lines may come twice after a restart, and that is all.
      log.warn('process-place-not-kept', { execution: executionId, error: errorText(error) })
    }
  }

  /** Resolves when what is taken by now is written down, whoever began with it. */
  async function savePlace({ executionId }: ProcessRef): Promise<void> {
    const held = table.get(executionId)
    if (held === undefined) return
    if (held.output.takenSeq !== held.savedSeq) {
      held.savedSeq = held.output.takenSeq
      held.saved = held.saved.then(() => writePlace(held.ref, held.output))
    }
    await held.saved
  }

  const saving = setInterval(() => {
    for (const { ref } of table.values()) void savePlace(ref)
  }, PLACE_EVERY_MS)
  saving.unref()

  async function takeUp(caller: Caller, ref: ProcessRef, rules?: LineRules): Promise<HeldProcess> {
    const { sessionId, name, executionId } = ref
    const stream = await streams.open(caller, sessionId, executionId)
    const takenSeq = await places.readPlace(sessionId, name, executionId)
    const output = new ProcessOutput(takenSeq, rules)
    const from = stream.listen((chunk) => output.take(chunk))
    const held = add(ref, stream, output)
    // From further back for the complaints, of which the last are remembered.
    await output.catchUp(kept(stream.log, Math.max(0, Math.min(takenSeq, from - SEARCHED_BYTES)), from))
    return held
  }

  return {
    async hold(caller, ref, output) {
      try {
        add(ref, await streams.open(caller, ref.sessionId, ref.executionId), output)
      } catch (error) {
        if (!isHoldfastError(error, 'execution_ended')) throw error
        output.end()
        remember(ref.executionId, output.stderr)
      }
    },
    open(caller, ref, rules) {
      const held = table.get(ref.executionId)
      if (held !== undefined) return Promise.resolve(held)
      const known = opening.get(ref.executionId)
      if (known !== undefined) return known
      const taken = takeUp(caller, ref, rules).finally(() => opening.delete(ref.executionId))
      opening.set(ref.executionId, taken)
      return taken
    },
    held: (executionId) => table.get(executionId),
    stderrOf: (executionId) => table.get(executionId)?.output.stderr ?? ended.get(executionId) ?? null,
    savePlace,
    get counts() {
      return { running: table.size, ended: ended.size }
    },
    async close() {
      clearInterval(saving)
      await Promise.all([...table.values()].map(({ ref }) => savePlace(ref)))
    },
  }
}

/** What the log still has between two numbers. */
async function* kept(output: OutputLog, after: number, until: number): AsyncGenerator<OutputChunk, void, void> {
  if (after >= until) return
  for (const { channel, bytes, seq } of (await output.read(after, until - after)).chunks) {
    const begin = seq - bytes.length
    if (begin >= until) return
    yield seq <= until ? { channel, bytes, seq } : { channel, bytes: bytes.subarray(0, until - begin), seq: until }
  }
}
