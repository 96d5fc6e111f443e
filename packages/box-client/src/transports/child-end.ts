/**
 * The end of a Box server that is a child: its input is closed, then it is asked, then it is made to.
 */
import type { ChildProcess } from 'node:child_process'
import { pause } from '../clock.ts'
import type { BoxClock } from '../clock.ts'

/** How long a server gets for each step. */
const PATIENCE_MS = 2000

/** Settles when the process is gone. */
export async function endChild(child: ChildProcess, exited: Promise<unknown>, clock: BoxClock): Promise<void> {
  const gone = new AbortController()
  const whenGone = exited.then(() => gone.abort())
  child.stdin?.end()
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    await pause(clock, PATIENCE_MS, gone.signal)
    if (gone.signal.aborted) return
    child.kill(signal)
  }
  await whenGone
}
