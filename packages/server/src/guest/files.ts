/**
 * Files as the sandbox sees them. Every operation runs inside, as the sandbox's user, so that no symlink leads out.
 *
 * ingress → access → policy → sessions → sandboxes → [guest] → result
 */
import { runApplet } from './applet.ts'
import type { Channel } from './channel.ts'
import { parseEntry } from './entries.ts'
import { readFile } from './file-read.ts'
import { search } from './file-search.ts'
import { watchFiles } from './file-watch.ts'
import { writeFile } from './file-write.ts'
import type { Entry, Files, GrepMatch } from './inside.ts'
import { modeText } from './mode-text.ts'
import { RecordParser } from './records.ts'
import { invalid, requireAbsolute } from './require.ts'
import { violated } from './violation.ts'

const DEFAULT_ROOT = '/workspace'
const DEFAULT_LIST_LIMIT = 10_000
const DEFAULT_SEARCH_LIMIT = 1_000
const MAX_LIMIT = 100_000
const MAX_DEPTH = 1_000

export function guestFiles(channel: Channel): Files {
  return {
    read: (path, options) => readFile(channel, path, options),
    write: (path, content, options) => writeFile(channel, path, content, options),
    stat: (path, options) => stat(channel, path, options?.follow ?? false, options?.uid),
    async list(path, { depth = 1, limit = DEFAULT_LIST_LIMIT, uid } = {}) {
      requireAbsolute('path', path)
      requireBetween('depth', depth, MAX_DEPTH)
      requireBetween('limit', limit, MAX_LIMIT)
      return search(channel, { argv: ['list', path, `${depth}`, `${limit}`], path, uid }, limit, parseEntry)
    },
    async mkdir(path, { parents, mode = 0o755, uid } = {}) {
      requireAbsolute('path', path)
      await runApplet(channel, { argv: ['mkdir', path, modeText(mode), flags({ p: parents })], path, uid })
    },
    async move(from, to, { parents, exclusive, uid } = {}) {
      requireAbsolute('from', from)
      requireAbsolute('to', to)
      await runApplet(channel, { argv: ['move', from, to, flags({ p: parents, x: exclusive })], path: from, uid })
    },
    async remove(path, { recursive, force, uid } = {}) {
      requireAbsolute('path', path)
      await runApplet(channel, { argv: ['remove', path, flags({ r: recursive, f: force })], path, uid })
    },
    async chmod(path, mode, { recursive, uid } = {}) {
      requireAbsolute('path', path)
      await runApplet(channel, { argv: ['chmod', path, modeText(mode), flags({ r: recursive })], path, uid })
    },
    async chown(path, uid, gid, { recursive, as } = {}) {
      requireAbsolute('path', path)
      const argv = ['chown', path, ownerText('uid', uid), ownerText('gid', gid), flags({ r: recursive })] as const
      await runApplet(channel, { argv: [...argv], path, uid: as })
    },
    async glob(pattern, { root = DEFAULT_ROOT, limit = DEFAULT_SEARCH_LIMIT, skipIgnored, newestFirst, maxEntries, timeoutMs, uid } = {}) {
      requireAbsolute('root', root)
      requireBetween('limit', limit, MAX_LIMIT)
      const argv = ['glob', root, pattern, `${limit}`, flags({ i: skipIgnored, n: newestFirst }), bound(maxEntries)] as const
      return search(channel, { argv: [...argv], path: root, uid, ...timeout(timeoutMs) }, limit, parseEntry)
    },
    async grep(pattern, options = {}) {
      const {
        root = DEFAULT_ROOT,
        include = '',
        limit = DEFAULT_SEARCH_LIMIT,
        maxEntries,
        maxFiles,
        maxBytes,
        cpuMs,
        timeoutMs,
        uid,
      } = options
      requireAbsolute('root', root)
      requireBetween('limit', limit, MAX_LIMIT)
      const letters = flags({ i: options.skipIgnored, c: options.ignoreCase, l: options.literal })
      const bounds = [maxEntries, maxFiles, maxBytes, cpuMs].map(bound)
      const argv = ['grep', root, pattern, include, `${limit}`, letters, ...bounds] as const
      return search(channel, { argv: [...argv], path: root, uid, ...timeout(timeoutMs) }, limit, parseMatch)
    },
    watch: (path, options) => watchFiles(channel, path, options),
  }
}

async function stat(channel: Channel, path: string, isFollowing: boolean, uid: number | undefined): Promise<Entry> {
  requireAbsolute('path', path)
  const entries: Entry[] = []
  const parser = new RecordParser(3, (strings) => {
    if (entries.length > 0) throw violated('stat printed more than one entry')
    entries.push(parseEntry(strings))
  })
  await runApplet(channel, { argv: ['stat', path, flags({ f: isFollowing })], path, uid }, (bytes) => parser.push(bytes))
  const [entry] = entries
  if (!entry) throw violated('stat printed no entry')
  return entry
}

function parseMatch([line = '', path = '', text = '']: readonly string[]): GrepMatch {
  if (!/^\d{1,15}$/.test(line) || path === '') throw violated('grep printed a match that is none')
  return { path, line: Number(line), text }
}

/** The letters whose option is set. */
function flags(letters: Readonly<Record<string, boolean | undefined>>): string {
  return Object.keys(letters)
    .filter((letter) => letters[letter])
    .join('')
}

/** 0 is none. */
function bound(most: number | undefined): string {
  if (most !== undefined) requireBetween('a bound of a search', most, Number.MAX_SAFE_INTEGER)
  return `${most ?? 0}`
}

function timeout(timeoutMs: number | undefined): { readonly timeoutMs?: number } {
  return timeoutMs === undefined ? {} : { timeoutMs }
}

function requireBetween(what: string, value: number, maximum: number): void {
  if (!Number.isInteger(value) || value < 1 || value > maximum)
    throw invalid(`${what} must be a whole number from 1 to ${maximum}, but is ${value}`)
}

function ownerText(what: string, id: number): string {
  if (!Number.isInteger(id) || id < -1 || id > 0xffff_fffe) throw invalid(`${what} must be an id, or -1 to keep it, but is ${id}`)
  return `${id}`
}
