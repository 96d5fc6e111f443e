/**
 * What the command reads: nothing, or a stream that is passed on as it comes.
 */
import { fstatSync } from 'node:fs'

const STDIN = 0

/** `isWanted`: also from a terminal. */
export function inputOf(isWanted: boolean): AsyncIterable<Uint8Array> | null {
  return isWanted || (!process.stdin.isTTY && hasContent(STDIN)) ? process.stdin : null
}

/** A device such as /dev/null has nothing to say. */
function hasContent(descriptor: number): boolean {
  try {
    const stat = fstatSync(descriptor)
    return stat.isFile() || stat.isFIFO() || stat.isSocket()
  } catch {
    // It is closed.
    return false
  }
}
