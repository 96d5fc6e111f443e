/**
 * One reader's stream of one execution: STARTED, output, EXIT, END, in this order and no other.
 *
 * ingress → access → policy → sessions → sandboxes → [guest] → result
 *
 * Callbacks and no promises, so that a file operation costs what it must; `exec.ts` makes the promises.
 */
import { HoldfastError } from '@holdfast/protocol'
import type { Channel, StreamReceiver } from './channel.ts'
import { encodeControl, frameName, FrameType, StreamChannel } from './codec.ts'
import { endError } from './end-error.ts'
import type { RefusalCode } from './end-error.ts'
import { Tag } from './fields.ts'
import type { Field, Fields } from './fields.ts'
import { InputPipe } from './input-pipe.ts'
import type { ExecExit } from './inside.ts'
import { OutputReader } from './output-reader.ts'
import { MAX_SIGNAL, signalName } from './signals.ts'
import { violated } from './violation.ts'

const STATUS_EXITED = 0
const STATUS_SIGNALED = 1
/** The main process is gone, but nobody could wait for it: it was taken from its supervisor by force. */
const STATUS_UNKNOWN = 2
const MAX_EXIT_CODE = 255
const ENDED_BEFORE_READ = 'the execution has ended and reads no stdin any more'

export interface ExecutionOpening {
  readonly type: typeof FrameType.EXEC | typeof FrameType.ATTACH
  readonly fields: readonly Field[]
  /** Where an attached reader goes on. */
  readonly after: number
  /** What an END instead of STARTED means. */
  readonly refusal: RefusalCode
}

type State = 'opened' | 'started' | 'exited' | 'over'

/** Called once: with `null` when it has started, with the reason when it never will. */
export type OnStarted = (error: HoldfastError | null) => void

export class ExecutionStream implements StreamReceiver {
  readonly output: OutputReader
  readonly input: InputPipe
  id = 0n
  tag: string | null = null
  pid = 0
  skippedBytes = 0
  /** How it ended, once known. */
  exit: ExecExit | null = null
  /** Why no exit will ever be known through this stream. */
  error: HoldfastError | null = null
  readonly #channel: Channel
  readonly #stream: number
  readonly #opening: ExecutionOpening
  readonly #onStarted: OnStarted
  #state: State = 'opened'
  #deadline: NodeJS.Timeout
  #onSettled: (() => void)[] = []

  constructor(channel: Channel, stream: number, opening: ExecutionOpening, onStarted: OnStarted) {
    this.#channel = channel
    this.#stream = stream
    this.#opening = opening
    this.#onStarted = onStarted
    this.#deadline = channel.expect(frameName(opening.type), channel.answerTimeoutMs)
    this.output = new OutputReader(channel.windowBytes, (seq) => channel.send(encodeControl(FrameType.ACK, stream, [[Tag.SEQ, seq]])))
    this.input = new InputPipe(stream, (bytes, onFlushed) => channel.send(bytes, onFlushed))
  }

  /** Calls back once `exit` or `error` is set; at once if one is. */
  whenSettled(listener: () => void): void {
    if (this.exit || this.error) listener()
    else this.#onSettled.push(listener)
  }

  /** Leaves: an ephemeral execution dies of it, another lives on. */
  detach(): void {
    this.#channel.closeStream(this.#stream)
    this.#lose(new HoldfastError('guest_unreachable', 'this reader has left the execution before its end'))
    this.output.abandon()
  }

  data(channel: number, bytes: Buffer): void {
    if (this.#state !== 'started') throw violated(`output came while the execution was ${this.#state}, not started`)
    if (channel === StreamChannel.STDOUT) this.output.deliver(1, bytes)
    else if (channel === StreamChannel.STDERR) this.output.deliver(2, bytes)
    else throw violated(`output came on the channel ${channel}`)
  }

  control(type: number, fields: Fields): void {
    if (type === FrameType.STARTED && this.#state === 'opened') this.#started(fields)
    else if (type === FrameType.CREDIT && this.#state !== 'opened') this.input.grant(fields.requiredNumber(Tag.COUNT))
    else if (type === FrameType.EXIT && this.#state === 'started') this.#exited(fields)
    else if (type === FrameType.END) this.#ended(fields)
    else throw violated(`${frameName(type)} came while the execution was ${this.#state}`)
  }

  lost(error: HoldfastError): void {
    this.#lose(error)
  }

  #started(fields: Fields): void {
    clearTimeout(this.#deadline)
    const seq = fields.requiredNumber(Tag.SEQ)
    this.id = fields.requiredBigint(Tag.ID)
    this.pid = fields.requiredNumber(Tag.PID)
    this.tag = fields.text(Tag.TAG) || null
    this.skippedBytes = fields.number(Tag.SKIPPED) ?? 0
    if (seq - this.skippedBytes !== this.#opening.after) {
      throw violated(`output starts at ${seq} after ${this.skippedBytes} lost bytes, but was asked for from ${this.#opening.after}`)
    }
    this.output.startAt(seq, fields.number(Tag.WINDOW))
    const creditBytes = fields.number(Tag.COUNT)
    if (creditBytes !== undefined && this.#opening.type === FrameType.ATTACH) this.input.startWith(creditBytes)
    this.#state = 'started'
    this.#onStarted(null)
  }

  #exited(fields: Fields): void {
    const finalSeq = fields.requiredNumber(Tag.SEQ)
    if (finalSeq !== this.output.receivedSeq) throw violated(`the output ends at ${finalSeq}, but ${this.output.receivedSeq} was received`)
    this.exit = parseExit(fields)
    this.#state = 'exited'
    const endTimeoutMs = this.#channel.answerTimeoutMs
    this.#deadline = setTimeout(() => this.#channel.fail(violated(`no END followed EXIT within ${endTimeoutMs} ms`)), endTimeoutMs).unref()
    this.#settle(() => new HoldfastError('process_unknown', ENDED_BEFORE_READ))
    this.output.complete()
  }

  #ended(fields: Fields): void {
    clearTimeout(this.#deadline)
    const state = this.#state
    if (state === 'exited') {
      this.#state = 'over'
      return
    }
    const error = endError(fields, this.#opening.refusal)
    if (!error) throw violated('END came without EXIT and without an errno')
    this.#lose(error)
  }

  #lose(error: HoldfastError): void {
    clearTimeout(this.#deadline)
    const state = this.#state
    this.#state = 'over'
    if (!this.exit && !this.error) {
      this.error = error
      this.#settle(() => error)
    }
    // What arrived before the contact was lost is still to be read.
    this.output.complete()
    if (state === 'opened') this.#onStarted(error)
  }

  #settle(inputError: () => HoldfastError): void {
    this.input.close(inputError)
    const listeners = this.#onSettled
    this.#onSettled = []
    for (const listener of listeners) listener()
  }
}

function parseExit(fields: Fields): ExecExit {
  const status = fields.requiredNumber(Tag.STATUS)
  const code = fields.requiredNumber(Tag.CODE)
  const flags = fields.number(Tag.FLAGS) ?? 0
  if (status > STATUS_UNKNOWN) throw violated(`the exit status is ${status}, which means nothing`)
  if (status === STATUS_EXITED && code > MAX_EXIT_CODE) throw violated(`the exit code is ${code}`)
  if (status === STATUS_SIGNALED && (code < 1 || code > MAX_SIGNAL)) throw violated(`the signal is ${code}`)
  return {
    exitCode: status === STATUS_EXITED ? code : null,
    signal: status === STATUS_SIGNALED ? signalName(code) : null,
    timedOut: (flags & 1) !== 0,
    killed: (flags & 2) !== 0,
    survivors: fields.number(Tag.SURVIVORS) === 1,
    durationMs: (fields.number(Tag.USEC) ?? 0) / 1_000,
  }
}
