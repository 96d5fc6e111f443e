/**
 * Whoever reads an execution's output at this moment, e.g. an open response: may slow the program, may fail, may be left behind.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * A failed reader is the reader's own affair: the execution goes on without it.
 */
import { HoldfastError } from '@holdfast/protocol'
import type { OutputChunk } from '../../guest/inside.ts'

export class MomentaryReader {
  #onChunk: ((chunk: OutputChunk) => void | Promise<void>) | null
  readonly #onFailed: ((error: unknown) => void) | undefined
  #holdingUp: (() => void) | null = null

  constructor(onChunk: (chunk: OutputChunk) => void | Promise<void>, onFailed?: (error: unknown) => void) {
    this.#onChunk = onChunk
    this.#onFailed = onFailed
  }

  /** A promise: the program is to wait for it. Neither throws nor rejects. */
  take(chunk: OutputChunk): void | Promise<void> {
    if (this.#onChunk === null) return undefined
    try {
      const taken = this.#onChunk(chunk)
      return taken === undefined ? undefined : this.#waitFor(taken)
    } catch (error) {
      return this.#fail(error)
    }
  }

  /** True when it was holding the program up; it does not any more, and gets no further chunk. */
  leaveBehind(): boolean {
    if (this.#holdingUp === null) return false
    this.#fail(new HoldfastError('request_cancelled', 'the reader was too slow and held the program up beyond its time-out'))
    this.#holdingUp()
    return true
  }

  #waitFor(taken: Promise<void>): Promise<void> {
    return new Promise((resolve) => {
      const goOn = (): void => {
        this.#holdingUp = null
        resolve()
      }
      this.#holdingUp = goOn
      taken.catch((error: unknown) => this.#fail(error)).then(goOn, goOn)
    })
  }

  #fail(error: unknown): void {
    if (this.#onChunk === null) return
    this.#onChunk = null
    this.#onFailed?.(error)
  }
}
