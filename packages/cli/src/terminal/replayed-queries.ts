/**
 * Takes questions to the terminal out of output that is shown a second time.
 *
 * Programs ask a terminal for its kind, its colours or its cursor, and it answers as if somebody typed. When old output is replayed the
 * program that asked is gone, so the answers would be typed into whatever runs now.
 */

/** Longer ones are taken for text. */
const LONGEST_SEQUENCE = 256

/** Device attributes, status and cursor, versions, modes, keyboard and window reports; colours (OSC) and settings (DCS). */
const QUERY =
  // oxlint-disable-next-line no-control-regex -- escape sequences begin with this one
  /\u001B(?:\[(?:[?>=]?[\d;]*c|\??[\d;]*n|>\d*q|\??[\d;]*\$p|\?u|\d?x|(?:1[1-9]|2[01])t|\?[\d;]+S)|\][\d;]+;\?(?:\u0007|\u001B\\)|P[+$]q[^\u001B]*\u001B\\|Z)|\u0005/g
/** What may become one with the next piece. */
// oxlint-disable-next-line no-control-regex -- the same
const UNFINISHED = /\u001B(?:\[[?>=]?[\d;]*\$?|\][\d;?]*\u001B?|P[+$]?(?:q[^\u001B]*\u001B?)?)?$/

export interface ReplayFilter {
  /** What to show of the next bytes. */
  pass(bytes: Uint8Array): Uint8Array
  /** So many bytes are missing here. */
  skip(bytes: number): void
}

/** `replayedBytes`: where in the output the past ends; what comes after it is shown as it is. */
export function replayFilter(replayedBytes: number): ReplayFilter {
  let left = replayedBytes
  let held = ''

  function withoutQueries(bytes: Uint8Array, isLast: boolean): Buffer {
    const text = (held + Buffer.from(bytes).toString('latin1')).replaceAll(QUERY, '')
    const start = isLast ? -1 : text.search(UNFINISHED)
    const isHeld = start >= 0 && text.length - start <= LONGEST_SEQUENCE
    held = isHeld ? text.slice(start) : ''
    return Buffer.from(isHeld ? text.slice(0, start) : text, 'latin1')
  }

  return {
    pass(bytes) {
      if (left <= 0) return bytes
      const past = bytes.subarray(0, left)
      left -= past.length
      return Buffer.concat([withoutQueries(past, left === 0), bytes.subarray(past.length)])
    },
    skip(count) {
      left = Math.max(0, left - count)
    },
  }
}
