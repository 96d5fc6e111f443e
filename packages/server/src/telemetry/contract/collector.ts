/**
 * A collector of traces on a port of its own, for tests: keeps what it is sent, and can be told to refuse.
 *
 * Stands beside the flow.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { z } from 'zod'

const Attribute = z.object({ key: z.string(), value: z.record(z.string(), z.unknown()) })
const SpanSent = z.object({
  traceId: z.string(),
  spanId: z.string(),
  parentSpanId: z.string().optional(),
  name: z.string(),
  kind: z.number(),
  attributes: z.array(Attribute).default([]),
  status: z.object({ code: z.number().optional() }).default({}),
})
const Sent = z.object({
  resourceSpans: z.array(
    z.object({ resource: z.object({ attributes: z.array(Attribute) }), scopeSpans: z.array(z.object({ spans: z.array(SpanSent) })) }),
  ),
})

export interface CollectedSpan extends Omit<z.output<typeof SpanSent>, 'attributes'> {
  readonly attributes: Readonly<Record<string, unknown>>
}

export interface Collector {
  readonly url: string
  /** Everything that came, byte for byte. */
  readonly bodies: readonly string[]
  readonly paths: readonly string[]
  readonly spans: readonly CollectedSpan[]
  /** Of the next requests. */
  status: number
  close(): Promise<void>
}

export async function openCollector(): Promise<Collector> {
  const bodies: string[] = []
  const paths: string[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks)
      paths.push(request.url ?? '')
      bodies.push((request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body).toString('utf8'))
      response.writeHead(collector.status, { 'content-type': 'application/json' }).end('{}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const collector: Collector = {
    url: `http://127.0.0.1:${port}`,
    bodies,
    paths,
    get spans() {
      return bodies.flatMap((body) => Sent.parse(JSON.parse(body)).resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(spansOf)))
    },
    status: 200,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return collector
}

function spansOf({ spans }: { readonly spans: readonly z.output<typeof SpanSent>[] }): readonly CollectedSpan[] {
  return spans.map((span) => ({
    ...span,
    attributes: Object.fromEntries(span.attributes.map(({ key, value }) => [key, Object.values(value)[0]])),
  }))
}
