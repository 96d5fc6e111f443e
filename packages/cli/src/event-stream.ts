/** Server-sent events out of a response body, as they arrive. Comments are skipped. */

export interface ServerEvent {
  readonly event: string
  readonly data: string
}

export async function* serverEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder()
  let pending = ''
  for await (const bytes of body) {
    pending += decoder.decode(bytes, { stream: true })
    for (let end = pending.indexOf('\n\n'); end >= 0; end = pending.indexOf('\n\n')) {
      const event = parseBlock(pending.slice(0, end))
      pending = pending.slice(end + 2)
      if (event !== null) yield event
    }
  }
}

function parseBlock(block: string): ServerEvent | null {
  const fields = new Map<string, string>()
  for (const line of block.split('\n')) {
    const colon = line.indexOf(': ')
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 2))
  }
  const event = fields.get('event')
  return event === undefined ? null : { event, data: fields.get('data') ?? '' }
}
