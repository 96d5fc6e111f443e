/**
 * File operations that answer with many records: list, glob, grep. Bounded by the caller's limit, and by bytes.
 *
 * ingress → access → policy → sessions → sandboxes → [guest] → result
 */
import { runApplet } from './applet.ts'
import type { Applet } from './applet.ts'
import type { Channel } from './channel.ts'
import type { Limited } from './inside.ts'
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
): Promise<Limited<T>> {
  const items: T[] = []
  let isTruncated = false
  let answerBytes = 0
  const parser = new RecordParser(RECORD_WIDTH, (strings) => {
    if (isTruncated) throw violated('an applet printed more after it was truncated')
    if (strings[0] === 'truncated') isTruncated = true
    else if (items.length === limit) throw violated(`an applet printed more than ${limit} items`)
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
  return { items, truncated: isTruncated }
}
