/**
 * Entries of a sandbox's file system as the API shows them, and what they are known by in headers.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import type { FileView } from '@holdfast/protocol'
import type { Entry } from '../../guest/inside.ts'
import type { Validators } from './range.ts'

export function fileView({ path, type, size, mode, uid, gid, owner, group, modifiedAt, target }: Entry): FileView {
  return {
    path,
    type,
    size,
    mode: mode.toString(8).padStart(4, '0'),
    uid,
    gid,
    owner,
    group,
    modified_at: modifiedAt.toISOString(),
    target,
  }
}

/** Weak: a file that changes twice within the clock's grain may keep its tag. */
export function validatorsOf({ size, modifiedAt, changedAt }: Entry): Validators {
  const tag = [size, modifiedAt.getTime(), changedAt.getTime()].map((part) => part.toString(36)).join('-')
  return { etag: `W/"${tag}"`, lastModified: modifiedAt.toUTCString() }
}
