/**
 * A file, directory or other thing in a sandbox's file system, as the server describes it.
 */
import type { FileView } from '@holdfast/protocol'
import { camel } from './wire-names.ts'

export type FileType = 'file' | 'directory' | 'symlink' | 'fifo' | 'socket' | 'character-device' | 'block-device'

export interface FileEntry {
  readonly path: string
  readonly type: FileType
  readonly size: number
  /** Such as `0644`. */
  readonly mode: string
  readonly uid: number
  readonly gid: number
  readonly owner: string
  readonly group: string
  readonly modifiedAt: string
  /** Of a symbolic link. */
  readonly target: string | null
}

export function fileEntry(wire: FileView): FileEntry {
  return camel(wire)
}
