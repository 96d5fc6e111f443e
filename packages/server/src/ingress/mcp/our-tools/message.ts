/**
 * One message of a client as this door must understand it before the protocol's own library does.
 *
 * [ingress] → tools → access → policy → sessions → sandboxes → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'
import { z } from 'zod'
import { checkWeight, scanned, wholeBody } from '../../rest/request-body.ts'
import type { Reserve } from '../../direct-body.ts'

export const MESSAGE_LIMIT_BYTES = 4 * 1024 * 1024
/** The library's schemas look at every member. */
const MAXIMUM_MEMBERS = 10_000

const Cancelled = z.object({
  method: z.literal('notifications/cancelled'),
  params: z.object({ requestId: z.union([z.string(), z.int()]) }),
})
const Named = z.object({ method: z.string() })
const Request = z.object({ id: z.union([z.string(), z.int()]) })

/** Weighed and reserved. Throws `payload_too_large`, `invalid_request` where it is nested too deep, and what `reserve` does. */
export async function readMessage(body: AsyncIterable<Uint8Array>, reserve: Reserve = () => {}): Promise<string> {
  const bytes = await wholeBody(body, MESSAGE_LIMIT_BYTES, reserve)
  checkWeight(await scanned(bytes), MAXIMUM_MEMBERS, reserve)
  return bytes.toString('utf8')
}

export interface Understood {
  readonly method: string | null
  /** Of a request. */
  readonly id: string | number | null
  /** Which request it cancels. */
  readonly cancels: string | number | null
}

/** What is no message is left to the library to refuse. Throws `invalid_request` for several in one: they would count as one request. */
export function understand(text: string): Understood {
  const message = parsed(text)
  if (Array.isArray(message)) throw new HoldfastError('invalid_request', 'the body is a batch; send one message at a time')
  return {
    method: Named.safeParse(message).data?.method ?? null,
    id: Request.safeParse(message).data?.id ?? null,
    cancels: Cancelled.safeParse(message).data?.params.requestId ?? null,
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
