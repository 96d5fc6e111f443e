/**
 * The reader of a process's output: may come later than the process, may hold it up for as long as it likes, and is let go at its end.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * What a reader holds up waits in the guest and in the program. Whoever ends the process lets the reader go, so that no end waits for it.
 */
import type { OutputChunk } from '../../guest/inside.ts'

export type OnChunk = (chunk: OutputChunk) => void | Promise<void>

export class LaterReader {
  #onChunk: OnChunk | null
  #goOn: (() => void) | null = null
  #isOver = false

  constructor(onChunk: OnChunk | undefined) {
    this.#onChunk = onChunk ?? null
  }

  /** Every chunk from now on. The one before, if any, hears nothing more. */
  listen(onChunk: OnChunk): void {
    if (this.#isOver) return
    this.#onChunk = onChunk
    this.#goOn?.()
  }

  /** Nobody holds it up from now on. */
  letGo(): void {
    this.#isOver = true
    this.#onChunk = null
    this.#goOn?.()
  }

  /** A promise: the program is to wait for it. */
  take(chunk: OutputChunk): void | Promise<void> {
    const taken = this.#onChunk?.(chunk)
    return taken === undefined ? undefined : this.#until(taken)
  }

  #until(taken: Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#goOn = resolve
      taken.then(resolve, reject)
    })
  }
}
