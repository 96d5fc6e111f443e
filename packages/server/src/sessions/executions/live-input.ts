/**
 * The way to a running program after its start: its stdin or its terminal, over whichever connection reads it at the moment.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * One writer at a time and one piece at a time, so that a program that does not read holds its writers up and costs no memory. What was
 * written is with the guest, which answers for it: when contact breaks before that, nobody knows how much has arrived, and the
 * writer is told so instead of anything being sent again.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import type { Execution, Inside, TerminalSize } from '../../guest/inside.ts'
import type { LiveSandbox } from '../../sandboxes/live-sandbox.ts'
import type { InputKind } from '../../store/tables/execution-input.ts'

const PIECE_BYTES = 65_536
/** An answer at once is not kept up by the proof of its question. */
const PROOF_AFTER_MS = 2
/** Writers that may wait for one program. */
const MAX_WAITING = 8
/** What ends a line of input on a terminal, where stdin itself stays open: Ctrl-D. */
const END_OF_TRANSMISSION = Uint8Array.of(4)

export interface LiveInputNeeds {
  readonly live: LiveSandbox
  readonly kind: Exclude<InputKind, 'none'>
  /** Its stdin has ended; to be written down. */
  onClosed(): Promise<void>
}

/** Is told why some of it may be missing. */
export type OnDoubt = (error: unknown) => void

export class LiveInput {
  readonly #needs: LiveInputNeeds
  #kind: Exclude<InputKind, 'none'>
  #reading: Execution | null = null
  #over: HoldfastError | null = null
  #changed = Promise.withResolvers<void>()
  #isTaken = false
  #freed = Promise.withResolvers<void>()
  #waiting = 0
  /** That what is being said arrives; still to be asked for. */
  #proof: { readonly inside: Inside; readonly isGiven: Promise<void> } | null = null

  constructor(needs: LiveInputNeeds) {
    this.#needs = needs
    this.#kind = needs.kind
  }

  get isTerminal(): boolean {
    return this.#kind === 'terminal'
  }

  /** The stream that reads the program from now on; `null` while there is none. */
  attach(reading: Execution | null): void {
    this.#reading = reading
    this.#tell()
  }

  /** Nothing more can be written. */
  end(reason: HoldfastError): void {
    this.#over ??= reason
    this.#reading = null
    this.#tell()
  }

  /** Resolves once the guest has it. A caller who leaves is let go at once; what is on its way then may still arrive. */
  async write(bytes: Uint8Array, isLast: boolean, signal: AbortSignal): Promise<void> {
    this.#check(signal)
    if (this.#isTaken) await this.#takeTurn(signal)
    else this.#isTaken = true
    await unlessLeft(this.#deliver(bytes, isLast, signal), signal)
  }

  /**
   * For who says much, a little at a time: resolves once it is on its way and the program has room for more. That it has arrived is asked
   * for a moment later, for all that was said meanwhile; `onDoubt` hears of it when nobody can say so.
   */
  async send(pieces: readonly Uint8Array[], signal: AbortSignal, onDoubt: OnDoubt): Promise<void> {
    this.#check(signal)
    if (this.#isTaken) await this.#takeTurn(signal)
    else this.#isTaken = true
    const inside = await this.#pass(async (reading) => {
      for (const bytes of pieces) await writePieces(reading, bytes, signal)
    })
    this.#provedOver(inside).catch(onDoubt)
  }

  async #takeTurn(signal: AbortSignal): Promise<void> {
    if (this.#waiting >= MAX_WAITING)
      throw new HoldfastError('capacity_exhausted', `${MAX_WAITING} requests wait already for this program to read its input`)
    this.#waiting += 1
    try {
      while (this.#isTaken) await unlessLeft(this.#freed.promise, signal)
      this.#check(signal)
      this.#isTaken = true
    } finally {
      this.#waiting -= 1
    }
  }

  async resize(size: TerminalSize, signal: AbortSignal): Promise<void> {
    if (!this.isTerminal) throw new HoldfastError('not_interactive', 'this execution has no terminal')
    for (;;) {
      const reading = await unlessLeft(this.#attached(), signal)
      try {
        return await reading.resize(size)
      } catch (error) {
        if (isHoldfastError(error, 'process_unknown')) throw executionEnded(error)
        if (!isContactLost(error)) throw error
        // A size may be given twice, so it goes over the next connection.
        while (this.#reading === reading && this.#over === null) await unlessLeft(this.#changed.promise, signal)
      }
    }
  }

  #check(signal: AbortSignal): void {
    if (signal.aborted) throw callerLeft()
    if (this.#over !== null) throw this.#over
    if (this.#kind === 'closed') throw new HoldfastError('not_interactive', 'the stdin of this execution was closed')
  }

  async #deliver(bytes: Uint8Array, isLast: boolean, signal: AbortSignal): Promise<void> {
    const all = isLast && this.isTerminal ? Buffer.concat([bytes, END_OF_TRANSMISSION]) : bytes
    const isClosing = isLast && !this.isTerminal
    await this.#pass(async (reading, inside) => {
      await writePieces(reading, all, signal)
      if (signal.aborted) return
      if (isClosing) reading.stdin.end()
      // Frames are read in their order, so the answer proves that what was sent before has arrived.
      await inside.ping()
      if (!isClosing) return
      this.#kind = 'closed'
      await this.#needs.onClosed()
    })
  }

  /** Keeps its turn until its last piece is gone, even if nobody waits for it any more. Gives the connection that it went over. */
  async #pass(work: (reading: Execution, inside: Inside) => Promise<void>): Promise<Inside> {
    try {
      const { reading, inside } = await this.#connected()
      await work(reading, inside)
      return inside
    } catch (error) {
      throw this.#over ?? undelivered(error)
    } finally {
      this.#isTaken = false
      const { resolve } = this.#freed
      this.#freed = Promise.withResolvers()
      resolve()
    }
  }

  /** One question for all that was said over this connection before it is asked. */
  #provedOver(inside: Inside): Promise<void> {
    if (this.#proof?.inside !== inside) this.#proof = { inside, isGiven: this.#prove(inside) }
    return this.#proof.isGiven
  }

  async #prove(inside: Inside): Promise<void> {
    await delay(PROOF_AFTER_MS, undefined, { ref: false })
    if (this.#proof?.inside === inside) this.#proof = null
    try {
      await inside.ping()
    } catch (error) {
      throw this.#over ?? undelivered(error)
    }
  }

  async #attached(): Promise<Execution> {
    for (;;) {
      if (this.#over !== null) throw this.#over
      if (this.#reading !== null) return this.#reading
      await this.#changed.promise
    }
  }

  /** A stream and the connection that it belongs to. */
  async #connected(): Promise<{ readonly reading: Execution; readonly inside: Inside }> {
    for (;;) {
      const reading = this.#reading ?? (await this.#attached())
      const inside = await this.#needs.live.connected()
      if (this.#reading === reading) return { reading, inside }
    }
  }

  #tell(): void {
    const { resolve } = this.#changed
    this.#changed = Promise.withResolvers()
    resolve()
  }
}

export function executionEnded(cause?: unknown): HoldfastError {
  return new HoldfastError('execution_ended', 'this execution has ended', {}, { cause })
}

async function writePieces(reading: Execution, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
  for (let start = 0; start < bytes.length && !signal.aborted; start += PIECE_BYTES)
    await reading.stdin.write(bytes.subarray(start, start + PIECE_BYTES))
}

function callerLeft(): HoldfastError {
  return new HoldfastError('request_cancelled', 'the caller left before the program took this')
}

/** The promise's result, unless the caller leaves first. */
async function unlessLeft<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const left = Promise.withResolvers<never>()
  const leave = () => left.reject(callerLeft())
  if (signal.aborted) leave()
  signal.addEventListener('abort', leave, { once: true })
  try {
    return await Promise.race([promise, left.promise])
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

function isContactLost(error: unknown): boolean {
  return isHoldfastError(error, 'guest_unreachable') || isHoldfastError(error, 'guest_protocol_violated')
}

function undelivered(error: unknown): unknown {
  if (isHoldfastError(error, 'process_unknown')) return executionEnded(error)
  if (!isContactLost(error)) return error
  return new HoldfastError(
    'input_uncertain',
    'the connection to the sandbox broke while input was on its way; some of it may be missing',
    {},
    { cause: error },
  )
}
