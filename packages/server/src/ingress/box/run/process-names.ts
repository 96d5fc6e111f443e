/**
 * A managed process's id, which may be any text, as the name of a process in its session.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { createHash } from 'node:crypto'

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
/** What the others become; an id that looks like one becomes one, so that no two ids meet. */
const MADE = /^id-[0-9a-f]{48}$/

export function processNameOf(processId: string): string {
  if (NAME.test(processId) && !MADE.test(processId)) return processId
  return `id-${createHash('sha256').update(JSON.stringify(processId)).digest('hex').slice(0, 48)}`
}
