/**
 * How far a tool of another server is, as that server tells it, for the client that called the tool through us.
 *
 * [ingress] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * Messages wait in memory for a client that does not read, so there are only so many of them, each only so long.
 */
import type { ToolWatch } from './tool-offer.ts'

const MAXIMUM_MESSAGES = 1_000
const MAXIMUM_CHARACTERS = 1_000

export interface ToldProgress {
  readonly progress: number
  readonly total?: number
  readonly message?: string
}

/** What is no progress is not passed on: it comes from a sandbox. */
export function passedProgress(send: (told: ToldProgress) => Promise<void>): NonNullable<ToolWatch['onProgress']> {
  let sent = 0
  return ({ progress, total, message }) => {
    if (sent === MAXIMUM_MESSAGES || typeof progress !== 'number') return
    sent += 1
    const told = {
      progress,
      ...(typeof total === 'number' ? { total } : {}),
      ...(typeof message === 'string' ? { message: message.slice(0, MAXIMUM_CHARACTERS) } : {}),
    }
    // Whoever left hears no result either.
    send(told).catch(() => undefined)
  }
}
