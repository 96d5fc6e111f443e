/**
 * The last characters of a stream, in bounded memory.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import { StringDecoder } from 'node:string_decoder'

export const TAIL_CHARACTERS = 4000

export class TextTail {
  readonly #decoder = new StringDecoder('utf8')
  #text = ''

  add(bytes: Buffer): void {
    this.#text = lastCharacters(this.#text + this.#decoder.write(bytes))
  }

  text(): string {
    return this.#text
  }
}

function lastCharacters(text: string): string {
  if (text.length <= TAIL_CHARACTERS) return text
  const cut = text.slice(-TAIL_CHARACTERS)
  // Half a character at the cut is none.
  return /^[\uDC00-\uDFFF]/.test(cut) ? cut.slice(1) : cut
}
