/** What a command prints, line by line, for the examples beside this file. */
import type { OutputEvent } from '@holdfast/sdk'

export async function* linesOf(output: AsyncIterable<OutputEvent>): AsyncGenerator<string, void> {
  let rest = ''
  for await (const event of output) {
    if (event.type === 'gap') throw new Error(`${event.skippedBytes} bytes are not kept any more`)
    if (event.type === 'exit') break
    const parts = (rest + event.text).split('\n')
    rest = parts.pop() ?? ''
    yield* parts
  }
  if (rest !== '') yield rest
}
