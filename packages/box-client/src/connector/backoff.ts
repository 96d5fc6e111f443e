/** How long to wait before the next attempt: 3 s, 6, 12, 24, 48, then always 60. */

const FIRST_MS = 3000
const LONGEST_MS = 60_000

/** `failures` counts from 0. */
export function backoffMs(failures: number): number {
  return Math.min(FIRST_MS * 2 ** failures, LONGEST_MS)
}
