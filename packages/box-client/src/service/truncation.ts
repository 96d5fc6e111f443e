/**
 * Long output for a model: the head and the tail, and between them how much is missing.
 */

/** Of one stream, the notice included. */
export const OUTPUT_LIMIT = 4000
const HEAD_SHARE = 0.6

export interface Shortened {
  readonly text: string
  readonly isTruncated: boolean
}

/** Never longer than the limit, and never half a character at a cut. */
export function shorten(text: string, limit = OUTPUT_LIMIT): Shortened {
  if (text.length <= limit) return { text, isTruncated: false }
  // As if the longest notice were needed, so that one pass is enough.
  const room = limit - notice(text.length).length
  if (room <= 0) return { text: notice(text.length).slice(0, Math.max(limit, 0)), isTruncated: true }
  const headLength = Math.floor(room * HEAD_SHARE)
  const head = text.slice(0, isInsideOfPair(text, headLength) ? headLength - 1 : headLength)
  const tailStart = text.length - (room - headLength)
  const tail = text.slice(isInsideOfPair(text, tailStart) ? tailStart + 1 : tailStart)
  return { text: `${head}${notice(text.length - head.length - tail.length)}${tail}`, isTruncated: true }
}

function notice(missing: number): string {
  return `\n\n... [${missing} characters truncated] ...\n\n`
}

function isInsideOfPair(text: string, at: number): boolean {
  const code = text.codePointAt(at - 1)
  return at > 0 && code !== undefined && code > 0xffff
}
