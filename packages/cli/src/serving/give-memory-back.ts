/**
 * A server that has just started holds what only its start needed, and the engine would keep that for as long as nothing happens.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Not while the first callers come in. */
const AFTER_MS = 1_000

/** Collects once, about 10 MB, as soon as the start is over. */
export function giveMemoryBack(): void {
  setTimeout(() => {
    // The only way to the collector for a program that was not started with the flag.
    setFlagsFromString('--expose-gc')
    const collect: unknown = runInNewContext('gc')
    setFlagsFromString('--no-expose-gc')
    if (typeof collect === 'function') collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  }, AFTER_MS).unref()
}
