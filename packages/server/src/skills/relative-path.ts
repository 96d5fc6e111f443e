/**
 * Paths inside a package as somebody sends them: relative, with no way out, in names that a file system takes.
 *
 * Stands beside the flow.
 */
import { HoldfastError } from '@holdfast/protocol'
import { shortened } from './skill.ts'

const MAXIMUM_PATH_BYTES = 1024
const MAXIMUM_NAME_BYTES = 255
const MAXIMUM_DEPTH = 32

/** Its names; none for `.` and for nothing. Throws `invalid_request` with `field` in front. */
export function namesOf(path: string, field = 'path'): readonly string[] {
  const refuse = (why: string): never => {
    throw new HoldfastError('invalid_request', `${field}: '${shortened(path)}' ${why}`)
  }
  if (path.includes('\\')) refuse('contains a backslash; names are separated by "/"')
  // NUL is one of them.
  if (/\p{Cc}/u.test(path)) refuse('contains a control character')
  if (path.startsWith('/') || /^[A-Za-z]:/.test(path)) refuse('is not relative')
  if (Buffer.byteLength(path) > MAXIMUM_PATH_BYTES) refuse(`is longer than ${MAXIMUM_PATH_BYTES} bytes`)
  const names = path.split('/').filter((name) => name !== '' && name !== '.')
  if (names.includes('..')) refuse('leads out by ".."')
  if (names.length > MAXIMUM_DEPTH) refuse(`has more than ${MAXIMUM_DEPTH} names`)
  if (names.some((name) => Buffer.byteLength(name) > MAXIMUM_NAME_BYTES)) refuse(`has a name longer than ${MAXIMUM_NAME_BYTES} bytes`)
  return names
}
