/**
 * Running a program in the sandbox, and reading one that runs already.
 *
 * ingress → access → policy → sessions → sandboxes → [guest] → result
 *
 * The warm path: `exec` costs one socket write and one promise, `drain` one more promise.
 */
import type { Channel } from './channel.ts'
import { FrameType } from './codec.ts'
import { execFields } from './exec-request.ts'
import { ExecutionStream } from './execution-stream.ts'
import type { ExecutionOpening, OnStarted } from './execution-stream.ts'
import { Tag } from './fields.ts'
import type { Field } from './fields.ts'
import type { ExecExit, ExecRequest, Execution, KillReport, OutputChunk, TerminalSize } from './inside.ts'
import { channelName, OutputIterator } from './output-iterator.ts'
import { killExecution, resizeTerminal, signalExecution } from './orders.ts'
import { requireWhole } from './require.ts'

export function openExecution(channel: Channel, opening: ExecutionOpening, onStarted: OnStarted): ExecutionStream {
  return channel.open(opening.type, opening.fields, (stream) => new ExecutionStream(channel, stream, opening, onStarted))
}

/** Resolves once the program has started. Aborting before that kills it; afterwards it is the caller's to kill. */
export function exec(channel: Channel, request: ExecRequest, signal?: AbortSignal): Promise<Execution> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const fields = execFields(request, channel.windowBytes)
    const stream = openExecution(channel, { type: FrameType.EXEC, fields, after: 0, refusal: 'command_not_started' }, (error) => {
      signal?.removeEventListener('abort', abort)
      if (signal?.aborted && !error) killUnwanted(channel, stream)
      else if (error) reject(error)
      else resolve(new GuestExecution(channel, stream))
    })
    const abort = (): void => {
      reject(signal?.reason)
      // Without an id there is nothing to kill yet, unless leaving is enough.
      if (request.ephemeral) stream.detach()
    }
    signal?.addEventListener('abort', abort, { once: true })
  })
}

/** Started for a caller who has gone. Leaving comes after the kill, so that nothing waits for a reader. */
function killUnwanted(channel: Channel, stream: ExecutionStream): void {
  // Decision: nobody is left to tell; a lost channel or an execution that ended by itself is as good.
  killExecution(channel, { id: stream.id }).then(
    () => channel.forget(stream.id),
    () => undefined,
  )
  stream.detach()
}

export function attach(channel: Channel, key: Field, after: number): Promise<Execution> {
  return new Promise((resolve, reject) => {
    requireWhole('after', after)
    const fields: Field[] = [key, [Tag.AFTER, after], [Tag.WINDOW, channel.windowBytes]]
    const stream = openExecution(channel, { type: FrameType.ATTACH, fields, after, refusal: 'process_unknown' }, (error) => {
      if (error) reject(error)
      else resolve(new GuestExecution(channel, stream))
    })
  })
}

class GuestExecution implements Execution {
  readonly stdin: Execution['stdin']
  readonly output: AsyncIterable<OutputChunk>
  readonly #channel: Channel
  readonly #stream: ExecutionStream
  #exit: Promise<ExecExit> | null = null

  constructor(channel: Channel, stream: ExecutionStream) {
    this.#channel = channel
    this.#stream = stream
    this.output = { [Symbol.asyncIterator]: () => new OutputIterator(stream) }
    this.stdin = {
      write: (bytes) => new Promise((resolve, reject) => stream.input.write(bytes, (error) => (error ? reject(error) : resolve()))),
      end: () => stream.input.end(),
    }
  }

  get id(): bigint {
    return this.#stream.id
  }

  get pid(): number {
    return this.#stream.pid
  }

  get tag(): string | null {
    return this.#stream.tag
  }

  get skippedBytes(): number {
    return this.#stream.skippedBytes
  }

  get exit(): Promise<ExecExit> {
    if (this.#exit) return this.#exit
    const stream = this.#stream
    this.#exit = new Promise((resolve, reject) => {
      stream.whenSettled(() => (stream.exit ? resolve(stream.exit) : reject(stream.error)))
    })
    // Whoever asked for the exit and then lost interest must not crash the server.
    this.#exit.catch(() => undefined)
    return this.#exit
  }

  drain(onChunk: (chunk: OutputChunk) => void | Promise<void>): Promise<ExecExit> {
    const stream = this.#stream
    return new Promise((resolve, reject) => {
      const giveUp = (error: unknown): void => {
        reject(error)
        stream.detach()
      }
      stream.output.consume({
        keepsBytes: false,
        chunk: (channel, bytes, seq) => {
          try {
            const taken = onChunk({ channel: channelName(channel), bytes, seq })
            if (taken === undefined) return true
            taken.then(() => stream.output.resume(), giveUp)
          } catch (error) {
            giveUp(error)
          }
          return false
        },
        finished: () => (stream.exit ? resolve(stream.exit) : reject(stream.error)),
      })
    })
  }

  resize(size: TerminalSize): Promise<void> {
    return resizeTerminal(this.#channel, this.id, size)
  }

  signal(signal: NodeJS.Signals | number, scope?: 'main' | 'tree'): Promise<void> {
    return signalExecution(this.#channel, { id: this.id }, signal, scope)
  }

  kill(graceMs?: number): Promise<KillReport> {
    return killExecution(this.#channel, { id: this.id }, graceMs)
  }

  detach(): void {
    this.#stream.detach()
  }
}
