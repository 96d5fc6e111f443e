/**
 * A receiver of webhooks that believes only what the server signed.
 *
 * A server sends to public addresses only. For a receiver on the same machine its operator allows that network:
 *
 *     HOLDFAST_WEBHOOKS_ALLOWED_NETWORKS=127.0.0.1/32 npm run up
 *     node examples/typescript/webhook-receiver.ts
 *
 * It prints:
 *
 *     refused: a forged event
 *     1 session.created
 *     2 session.idle
 *     3 session.active
 *     4 execution.started
 *     5 execution.ended
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingHttpHeaders } from 'node:http'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { Holdfast } from '@holdfast/sdk'

/** As Standard Webhooks say: over the text as it arrived, in constant time, and nothing that is older than five minutes. */
function isGenuine(headers: IncomingHttpHeaders, body: string, secret: string): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers
  if (typeof signatures !== 'string' || !(Math.abs(Date.now() / 1000 - Number(timestamp)) < 300)) return false
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
  const signature = createHmac('sha256', key)
    .update(`${String(id)}.${String(timestamp)}.${body}`)
    .digest('base64')
  const expected = Buffer.from(`v1,${signature}`)
  return signatures.split(' ').some((one) => one.length === expected.length && timingSafeEqual(Buffer.from(one), expected))
}

interface Event {
  readonly id: string
  readonly type: string
  readonly session_id: string
  readonly seq: number
}

let secret = ''
const seen = new Set<string>()
const events = new PassThrough({ objectMode: true })
const receiver = createServer((request, response) => {
  void text(request).then((body) => {
    if (!isGenuine(request.headers, body, secret)) return response.writeHead(401).end()
    const event: Event = JSON.parse(body)
    // At least once: the same event may come again. Answer first, work afterwards.
    if (!seen.has(event.id)) events.write(event)
    seen.add(event.id)
    return response.writeHead(204).end()
  })
})
receiver.listen(0, '127.0.0.1')
await once(receiver, 'listening')
const address = receiver.address()
if (typeof address === 'string' || address === null) throw new Error('this machine gives no port')
const url = `http://127.0.0.1:${address.port}/events`

const holdfast = new Holdfast()
const webhook = await holdfast.webhooks.create({ url })
secret = webhook.secret // shown once: keep it like a password
try {
  const headers = { 'webhook-id': 'evt_x', 'webhook-timestamp': String(Date.now() / 1000), 'webhook-signature': 'v1,x' }
  const forged = await fetch(url, { method: 'POST', headers, body: '{"id":"evt_x","type":"session.created","seq":1}' })
  if (forged.status === 401) console.log('refused: a forged event')

  await using session = await holdfast.sessions.getOrCreate({ key: `webhook-${address.port}`, release: 'on-dispose' })
  await session.commands.run('true')
  // A webhook gets the events of the whole tenant.
  for await (const { session_id, seq, type } of events as AsyncIterable<Event>) {
    if (session_id === session.id) console.log(seq, type)
    if (session_id === session.id && type === 'execution.ended') break
  }
} finally {
  await holdfast.webhooks.remove(webhook.id)
  receiver.close()
  receiver.closeAllConnections()
}
