/**
 * One after the other: work on something that only one may change at a time.
 *
 * Stands beside the flow.
 */

export type SerialQueue = <T>(work: () => Promise<T>) => Promise<T>

/** What fails does not keep the next from its turn. */
export function createSerialQueue(): SerialQueue {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const turn = last.then(work)
    last = turn.catch(() => undefined)
    return turn
  }
}
