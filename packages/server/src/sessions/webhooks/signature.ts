/**
 * The signature of a webhook, as the Standard Webhooks specification has it: HMAC-SHA256 over `id.timestamp.body`.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import { createHmac } from 'node:crypto'

const PREFIX = 'whsec_'

/** The secret as its owner sees it, once. */
export function showSecret(secret: Uint8Array): string {
  return `${PREFIX}${Buffer.from(secret).toString('base64')}`
}

/** `at` in epoch milliseconds; receivers refuse what is older than some minutes, so each attempt has its own. */
export function signedHeaders(secret: Uint8Array, id: string, at: number, body: string): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(at / 1000))
  const signature = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` }
}
