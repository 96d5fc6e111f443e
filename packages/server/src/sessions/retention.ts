/**
 * Removes stored data that is past its age or above a quota, in small transactions, until nothing more is due.
 *
 * After each batch it rests as long as the batch took, so requests get at least every second turn of the store and of the event loop,
 * and removal still keeps up with a server at full load. A rule that fails is logged and tried again in the next round.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { errorText } from '../telemetry/log.ts'
import type { Log } from '../telemetry/log.ts'

/** Rows in one transaction. */
export const BATCH = 500
const MAX_REST_MS = 100

export interface RetentionRule {
  readonly name: string
  /** Removes one batch. Resolves with `true` while more may be due. */
  removeBatch(): Promise<boolean>
}

export interface Retention {
  /** One round: applies every rule until nothing is due. Calls that overlap share a round. */
  run(): Promise<void>
  stop(): Promise<void>
}

export function createRetention(rules: readonly RetentionRule[], log: Log): Retention {
  const stopped = new AbortController()
  let round: Promise<void> | null = null

  async function applyAll(): Promise<void> {
    for (const rule of rules) {
      try {
        await inBatches(() => rule.removeBatch(), stopped.signal)
      } catch (error) {
        if (!stopped.signal.aborted) log.error('retention-failed', { rule: rule.name, error: errorText(error) })
      }
    }
  }

  return {
    run: () => (round ??= applyAll().finally(() => (round = null))),
    async stop() {
      stopped.abort()
      await round
    },
  }
}

/** Repeats `removeBatch` while it resolves with `true`, with a rest after each batch. */
export async function inBatches(removeBatch: () => Promise<boolean>, signal?: AbortSignal): Promise<void> {
  for (;;) {
    const began = performance.now()
    const isMore = await removeBatch()
    if (!isMore || signal?.aborted === true) return
    await wait(Math.min(performance.now() - began, MAX_REST_MS), undefined, { signal, ref: false }).catch(() => undefined)
  }
}
