/**
 * File operations that answer with many records: list, glob, grep. Bounded by the caller's limit, and by bytes.
 *
 * ingress → access → policy → sessions → sandboxes → [guest] → result
 */
import { runApplet } from './applet.ts'
import type { Applet } from './applet.ts'
import type { Channel } from './channel.ts'
import { SEARCH_BOUNDS } from './inside.ts'
import type { Found, SearchBound } from './inside.ts'
import { RecordParser } from './records.ts'
import { violated } from './violation.ts'

/** Beyond this the rest is left out and the answer says so: the server's memory is not the sandbox's to fill. */
const MAX_ANSWER_BYTES = 33_554_432
const RECORD_WIDTH = 3

export async function search<T>(
  channel: Channel,
  applet: Applet,
  limit: number,
  parse: (strings: readonly string[]) => T,
): Promise<Found<T>> {
  const items: T[] = []
  let isTruncated = false
  let cutBy: SearchBound | undefined
  let total: number | undefined
  let answerBytes = 0
  const parser = new RecordParser(RECORD_WIDTH, (strings) => {
    const [word, value] = strings
    if (total !== undefined) throw violated('an applet printed more after its total')
    if (word === 'total') total = totalOf(value)
    else if (isTruncated) throw violated('an applet printed more after it was truncated')
    else if (word === 'truncated') {
      isTruncated = true
      cutBy = SEARCH_BOUNDS.find((bound) => bound === value)
    } else if (items.length === limit) throw violated(`an applet printed more than ${limit} items`)
    else items.push(parse(strings))
  })
  const enough = new Error('the answer is long enough')
  try {
    await runApplet(channel, applet, (bytes) => {
      answerBytes += bytes.length
      if (answerBytes > MAX_ANSWER_BYTES) throw enough
      parser.push(bytes)
    })
    parser.end()
  } catch (error) {
    if (error !== enough) throw error
    isTruncated = true
  }
  return { items, truncated: isTruncated, ...(cutBy === undefined ? {} : { cutBy }), ...(total === undefined ? {} : { total }) }
}

function totalOf(text = ''): number {
  if (!/^\d{1,15}$/.test(text)) throw violated('an applet printed a total that is no number')
  return Number(text)
}
