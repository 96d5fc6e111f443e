/**
 * One at a time for each key, in the order of asking.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
export type KeyedTurns = <T>(key: string, work: () => Promise<T>) => Promise<T>

export function keyedTurns(): KeyedTurns {
  const last = new Map<string, Promise<unknown>>()
  return async (key, work) => {
    const before = last.get(key)
    const turn = before === undefined ? work() : before.then(work, work)
    // How it ended is for the one who asked.
    const over = turn.then(
      () => undefined,
      () => undefined,
    )
    last.set(key, over)
    try {
      return await turn
    } finally {
      if (last.get(key) === over) last.delete(key)
    }
  }
}
