/**
 * The first MiB of a stream as text, and how much there was beyond it.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { OutputCapture } from '../../../sessions/output-capture.ts'

export const CLIPPED_BYTES = 1_048_576

export class ClippedOutput {
  readonly #capture = new OutputCapture(CLIPPED_BYTES)
  #totalBytes = 0

  add(bytes: Buffer): void {
    this.#totalBytes += bytes.length
    this.#capture.add(bytes)
  }

  text(): string {
    const text = this.#capture.text().trim()
    const discarded = this.#totalBytes - CLIPPED_BYTES
    return discarded <= 0 ? text : `${text}\n[output clipped at ${CLIPPED_BYTES} bytes; ${discarded} bytes discarded]`
  }
}
