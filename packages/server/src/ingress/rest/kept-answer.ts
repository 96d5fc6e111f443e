/**
 * What is kept of an answer for a repeated request: all of it up to 64 KB; above that, the output of a command shortened to its end, or
 * else only what the answer was about.
 */
import { HoldfastError } from '@holdfast/protocol'
import { z } from 'zod'
import type { Reply } from './route.ts'

const MAX_CHARACTERS = 65_536
/** Of each output of a command. */
const MAX_OUTPUT_CHARACTERS = 8_192

/** In place of a body: which fields of it say where to find the rest. */
export const DroppedAnswer = z.object({ bytes: z.int(), ids: z.record(z.string(), z.string()) })
type DroppedAnswer = z.output<typeof DroppedAnswer>

const Outputs = z.looseObject({ execution_id: z.string(), stdout: z.string(), stderr: z.string() })

export function keptAnswer({ status, body, headers }: Reply): string {
  const whole = JSON.stringify({ status, body, headers })
  if (whole.length <= MAX_CHARACTERS) return whole
  const outputs = Outputs.safeParse(body)
  if (outputs.success) {
    const shortened = JSON.stringify({ status, body: shorten(outputs.data), headers })
    if (shortened.length <= MAX_CHARACTERS) return shortened
  }
  return JSON.stringify({ status, body: null, dropped: { bytes: whole.length, ids: idsOf(body) } })
}

export function answerNotKept(status: number, { bytes, ids }: DroppedAnswer): HoldfastError {
  return new HoldfastError(
    'answer_not_kept',
    `the request was done and answered with ${status}; the answer of ${bytes} bytes was too large to be kept`,
    { status, bytes, ...ids },
  )
}

function shorten(body: z.output<typeof Outputs>): object {
  const cut = (name: 'stdout' | 'stderr') =>
    body[name].length <= MAX_OUTPUT_CHARACTERS
      ? {}
      : { [name]: body[name].slice(-MAX_OUTPUT_CHARACTERS).replace(/^[\u{DC00}-\u{DFFF}]/u, ''), [`${name}_truncated`]: true }
  return { ...body, ...cut('stdout'), ...cut('stderr') }
}

/** Short text fields whose name says that they name something. */
function idsOf(body: unknown): Readonly<Record<string, string>> {
  if (body === null || typeof body !== 'object') return {}
  const named = Object.entries(body).filter(([name, value]) => /(^|_)id$/.test(name) && typeof value === 'string' && value.length <= 255)
  return Object.fromEntries(named.map(([name, value]) => [name, String(value)]))
}
