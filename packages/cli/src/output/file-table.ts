/**
 * Files of a sandbox as people see them.
 */
import type { FileEntry } from '@holdfast/sdk'
import type { Column } from './table.ts'
import { momentWords, sizeWords } from './words.ts'

export function fileColumns(now: number): readonly Column<FileEntry>[] {
  return [
    { title: 'MODE', of: modeWords },
    { title: 'OWNER', of: ({ owner }) => owner },
    { title: 'SIZE', of: ({ type, size }) => (type === 'file' ? sizeWords(size) : '-') },
    { title: 'CHANGED', of: ({ modifiedAt }) => momentWords(modifiedAt, now) },
    {
      title: 'PATH',
      of: ({ path, type, target }) => (type === 'directory' ? `${path}/` : target === null ? path : `${path} -> ${target}`),
      isFlexible: true,
    },
  ]
}

export function fileRows({
  path,
  type,
  size,
  mode,
  owner,
  group,
  uid,
  gid,
  modifiedAt,
  target,
}: FileEntry): readonly (readonly [string, string])[] {
  return [
    ['path', target === null ? path : `${path} -> ${target}`],
    ['type', type],
    ['size', `${size} (${sizeWords(size)})`],
    ['mode', mode],
    ['owner', `${owner} (${uid}), group ${group} (${gid})`],
    ['changed', modifiedAt],
  ]
}

const TYPE_LETTERS: Readonly<Record<FileEntry['type'], string>> = {
  file: '-',
  directory: 'd',
  symlink: 'l',
  fifo: 'p',
  socket: 's',
  'character-device': 'c',
  'block-device': 'b',
}

/** As `ls -l` writes it. */
function modeWords({ type, mode }: FileEntry): string {
  const bits = Number.parseInt(mode, 8)
  const letters = [6, 3, 0].map((shift) => ['r', 'w', 'x'].map((letter, at) => ((bits >> (shift + 2 - at)) & 1 ? letter : '-')).join(''))
  return `${TYPE_LETTERS[type]}${letters.join('')}`
}
