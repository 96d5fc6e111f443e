/**
 * How far a copy has come, on one line of a terminal; nothing where nobody looks.
 */
import { cutTo, printable } from '../output/printable.ts'
import { sizeWords } from '../output/words.ts'

const EVERY_MS = 100
/** A copy quicker than this needs no words. */
const PATIENCE_MS = 300

export interface Progress {
  /** Passes the bytes on and counts them. */
  count(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void>
  say(name: string): void
  end(): void
}

/** `total`: how many bytes there are, where that is known. */
export function startProgress(name: string, total: number | null, output: NodeJS.WriteStream = process.stderr): Progress {
  const startedAt = performance.now()
  let shown = name
  let done = 0
  let isShown = false
  const show = () => {
    const seconds = (performance.now() - startedAt) / 1000
    if (seconds * 1000 < PATIENCE_MS) return
    isShown = true
    const share = total === null || total === 0 ? '' : ` of ${sizeWords(total)} (${Math.min(100, Math.floor((done / total) * 100))}%)`
    const words = `${sizeWords(done)}${share}, ${sizeWords(done / seconds)}/s`
    output.write(`\r\u001B[2K${cutTo(printable(shown), Math.max(8, (output.columns || 80) - words.length - 3))}  ${words}`)
  }
  const timer = output.isTTY ? setInterval(show, EVERY_MS) : undefined
  return {
    async *count(bytes) {
      for await (const piece of bytes) {
        done += piece.length
        yield piece
      }
    },
    say(next) {
      shown = next
    },
    end() {
      clearInterval(timer)
      if (isShown) output.write('\r\u001B[2K')
      isShown = false
    },
  }
}
