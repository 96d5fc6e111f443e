/**
 * Repeats a write that must not be given up, with backoff, until the store takes it.
 *
 * For facts that exist nowhere else in the store, such as the end of an execution: an outage, a lock or a full disk delays them and never
 * drops them. Each write must be safe to repeat, because a commit may have succeeded although its answer was lost.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import { errorText } from '../telemetry/log.ts'
import type { Log, LogFields } from '../telemetry/log.ts'

const FIRST_DELAY_MS = 50
/** Short, so that everything is stored soon after the store answers again. */
const LONGEST_DELAY_MS = 2_000

export interface StoreRetries {
  /** Rejects with `server_stopping` after `stop`, and at once with an error that a repetition would only meet again. */
  untilStored<T>(what: string, fields: LogFields, write: () => Promise<T>): Promise<T>
  /** Gives up what is still pending: the next start repairs it from the guests. */
  stop(): void
}

export function createStoreRetries(log: Log): StoreRetries {
  const stopped = new AbortController()
  return {
    async untilStored(what, fields, write) {
      for (let failures = 0; ; failures += 1) {
        try {
          const result = await write()
          if (failures > 0) log.info('stored-late', { what, ...fields, failures })
          return result
        } catch (error) {
          if (!isWorthRepeating(error)) throw error
          if (stopped.signal.aborted) throw givenUp(error)
          if (failures === 0) log.warn('store-retry', { what, ...fields, error: errorText(error) })
        }
        const delayMs = Math.min(FIRST_DELAY_MS * 2 ** failures, LONGEST_DELAY_MS)
        await delay(delayMs, undefined, { ref: false, signal: stopped.signal }).catch((error: unknown) => {
          throw givenUp(error)
        })
      }
    },
    stop: () => stopped.abort(),
  }
}

/** A missing session stays missing; anything that is no `HoldfastError` is a bug of the write itself. */
function isWorthRepeating(error: unknown): boolean {
  return isHoldfastError(error) && error.code !== 'not_found' && error.code !== 'server_stopping'
}

function givenUp(cause: unknown): HoldfastError {
  return new HoldfastError(
    'server_stopping',
    'the server stops before the store answered; the next start repairs the record',
    {},
    { cause },
  )
}
