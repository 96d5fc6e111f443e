/**
 * END frames to errors: the errno says which row of the error table, the guest's message says what was wrong.
 *
 * ingress → access → policy → sessions → sandboxes → [guest] → result
 */
import { HoldfastError } from '@holdfast/protocol'
import { errnoName } from './errnos.ts'
import { Tag } from './fields.ts'
import type { Fields } from './fields.ts'
import { guestText } from './guest-text.ts'

/** What a refusal means where it was met. */
export type RefusalCode = 'command_not_started' | 'process_unknown' | 'connection_refused' | 'invalid_request'

/** The sandbox or the guest is full, whatever was asked. */
const FULL = new Set(['EAGAIN', 'ENOMEM', 'EMFILE', 'ENFILE'])
/** No such execution. */
const UNKNOWN = new Set(['ESRCH'])

/** `null` when the stream ended well. */
export function endError(fields: Fields, refusal: RefusalCode): HoldfastError | null {
  const number = fields.requiredNumber(Tag.ERRNO)
  if (number === 0) return null
  const errno = errnoName(number)
  const message = guestText(fields.text(Tag.MESSAGE) ?? '') || 'the guest refused'
  const code = FULL.has(errno) ? 'capacity_exhausted' : UNKNOWN.has(errno) ? 'process_unknown' : refusal
  return new HoldfastError(code, `${message} (${errno})`, { errno })
}
