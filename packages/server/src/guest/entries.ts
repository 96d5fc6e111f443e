/**
 * Entries of the sandbox's file system as applets print them: properties, path, link target.
 *
 * ingress → access → policy → sessions → sandboxes → [guest] → result
 */
import type { Entry, EntryType } from './inside.ts'
import { violated } from './violation.ts'

const TYPES: Readonly<Record<string, EntryType>> = {
  f: 'file',
  d: 'directory',
  l: 'symlink',
  p: 'fifo',
  s: 'socket',
  c: 'character-device',
  b: 'block-device',
}
const PROPERTIES =
  /^([fdlpscb]) ([0-7]{1,4}) (\d{1,10}) (\d{1,10}) (\d{1,19}) (-?\d{1,19}) (-?\d{1,19}) (-?\d{1,19}) (\d{1,10}) (\S{1,256}) (\S{1,256})$/
const NANOSECONDS_PER_MILLISECOND = 1e6

export function parseEntry([properties = '', path = '', target = '']: readonly string[]): Entry {
  const match = PROPERTIES.exec(properties)
  if (!match || path === '') throw violated('an applet printed an entry that is none')
  const [, type = '', mode = '', uid, gid, size, modified, accessed, changed, links, owner = '', group = ''] = match
  return {
    path,
    type: TYPES[type] ?? 'file',
    mode: Number.parseInt(mode, 8),
    uid: Number(uid),
    gid: Number(gid),
    owner,
    group,
    size: Number(size),
    links: Number(links),
    modifiedAt: dateOf(modified),
    accessedAt: dateOf(accessed),
    changedAt: dateOf(changed),
    target: type === 'l' ? target : null,
  }
}

function dateOf(nanoseconds: string | undefined): Date {
  return new Date(Math.floor(Number(nanoseconds) / NANOSECONDS_PER_MILLISECOND))
}
