/**
 * What is told while an MCP server is being put into its box: lines for people, and none of their secrets.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 */
import { StringDecoder } from 'node:string_decoder'

/** One line: what is being done, and how far it is. */
export type OnProgress = (line: string) => void

const MAXIMUM_LINE = 300
/** So much of a line is kept until its end comes; a secret that begins in what is shown of it ends in that. */
const MAXIMUM_KEPT = 8_192
/** In an address of an index or of a repository. */
const CREDENTIALS = /(:\/\/)[^/@\s]+@/g
/** Colours and what moves the cursor. */
// oxlint-disable-next-line no-control-regex
const ESCAPES = /\u001B(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001B]*(?:\u0007|\u001B\\)?|[@-_])/g

/** Whatever a program printed, as text that can be shown. */
export function shown(text: string): string {
  return text
    .replaceAll(ESCAPES, '')
    .replaceAll(CREDENTIALS, '$1…@')
    .replaceAll(/[^\P{Cc}\n\t]/gu, '')
}

/** Tells each whole line of a stream, in bounded memory. */
export class LineTeller {
  readonly #onLine: OnProgress
  readonly #decoder = new StringDecoder('utf8')
  #partial = ''

  constructor(onLine: OnProgress) {
    this.#onLine = onLine
  }

  add(bytes: Buffer): void {
    const lines = (this.#partial + this.#decoder.write(bytes)).split(/[\r\n]+/)
    this.#partial = (lines.pop() ?? '').slice(0, MAXIMUM_KEPT)
    for (const line of lines) {
      const text = shown(line).trim()
      if (text !== '') this.#onLine(text.slice(0, MAXIMUM_LINE))
    }
  }
}
