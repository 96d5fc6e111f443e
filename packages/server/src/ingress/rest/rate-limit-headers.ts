/**
 * When to come again, in headers: Retry-After, and RateLimit with its policy (draft-ietf-httpapi-ratelimit-headers).
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * Only with refusals. On other answers they would cost every request something, and tell whether two requests were counted together.
 */
import type { HoldfastError } from '@holdfast/protocol'
import { z } from 'zod'

const Refused = z.object({ policy: z.string(), quota: z.int(), window_seconds: z.int(), retry_after_seconds: z.int() })

/** Nothing for what no rate refused. */
export function rateLimitHeaders({ details }: Pick<HoldfastError, 'details'>): Readonly<Record<string, string>> {
  const refused = Refused.safeParse(details)
  if (!refused.success) return {}
  const { policy, quota, window_seconds: window, retry_after_seconds: after } = refused.data
  return {
    'retry-after': `${after}`,
    'ratelimit-policy': `"${policy}";q=${quota};w=${window}`,
    ratelimit: `"${policy}";r=0;t=${after}`,
  }
}
