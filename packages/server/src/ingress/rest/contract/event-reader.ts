/**
 * Server-sent events read back, all of a stream that ends or the first few of one that does not.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */

export interface ReadEvent {
  readonly id: string | null
  readonly event: string
  readonly data: Record<string, unknown>
}

/** Leaves the stream once it has `count`. */
export async function readEvents(response: Response, count = Number.POSITIVE_INFINITY): Promise<readonly ReadEvent[]> {
  const events: ReadEvent[] = []
  if (response.body === null) return events
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of response.body) {
    text += decoder.decode(chunk, { stream: true })
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    events.push(...blocks.filter((block) => !block.startsWith(':')).map(parseEvent))
    if (events.length >= count) break
  }
  return events
}

function parseEvent(block: string): ReadEvent {
  const fields = new Map(block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]))
  const data: unknown = JSON.parse(fields.get('data') ?? '{}')
  return { id: fields.get('id') ?? null, event: fields.get('event') ?? '', data: data as Record<string, unknown> }
}
