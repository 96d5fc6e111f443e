/**
 * What a command prints, as progress messages of the call that runs it.
 *
 * ingress → [tools] → access → policy → sessions → sandboxes → guest → result
 *
 * Messages wait in memory for a client that does not read, so there are only so many of them, each only so long: the result tells the
 * rest.
 */
import { StringDecoder } from 'node:string_decoder'
import type { OnOutput } from './tool.ts'

const MAXIMUM_MESSAGES = 1_000
const MAXIMUM_CHARACTERS = 1_000

/** `send` gets the number of the message, which grows, and the lines that have become whole since the last one. */
export function outputProgress(send: (progress: number, message: string) => Promise<void>): OnOutput {
  const streams = { stdout: lineCutter(), stderr: lineCutter() }
  let sent = 0
  return async ({ bytes, channel }) => {
    if (sent === MAXIMUM_MESSAGES) return
    const lines = streams[channel](bytes)
    if (lines === '') return
    sent += 1
    await send(sent, sent === MAXIMUM_MESSAGES ? 'more is printed than is shown here' : lines)
  }
}

/** Whole lines of what comes, the last of them when there are too many. */
function lineCutter(): (bytes: Buffer) => string {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  return (bytes) => {
    const text = rest + decoder.write(bytes)
    const end = text.lastIndexOf('\n')
    rest = text.slice(end + 1).slice(-MAXIMUM_CHARACTERS)
    return end < 0 ? '' : text.slice(0, end).slice(-MAXIMUM_CHARACTERS)
  }
}
