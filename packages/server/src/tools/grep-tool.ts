/**
 * `grep`: lines that match a regular expression.
 *
 * ingress → [tools] → access → policy → sessions → sandboxes → guest → result
 */
import { TOOL_RESULT_BYTES } from '@holdfast/protocol'
import type { SearchBound } from '../guest/inside.ts'
import type { SessionFiles } from '../sessions/session-files.ts'
import { firstCharacters, firstThatFit } from './clipped-text.ts'
import { atAnyDepth } from './glob-tool.ts'
import { posixPattern } from './posix-pattern.ts'
import type { Tool } from './tool.ts'
import { absolutePath } from './tool-paths.ts'

const LINE_CHARACTERS = 500
const BOUNDS = {
  ...{ limit: 200, maxEntries: 100_000, maxFiles: 5_000, maxBytes: 52_428_800, cpuMs: 250 },
  ...{ skipIgnored: true, timeoutMs: 30_000 },
} as const

/** Means nothing but itself, and is found much faster as that. */
const PLAIN = /^[^\\^$.*+?()[\]{}|]+$/

export function grepTool(files: Pick<SessionFiles, 'grep'>): Tool<'grep'> {
  return {
    name: 'grep',
    description:
      'Search the lines of files in your sandbox with a regular expression, without look-around and backreferences. ' +
      'Directories such as .git, node_modules, .venv, dist and build are left out.',
    async run({ target, session }, { pattern, path, include }) {
      const { regex, ignoreCase } = posixPattern(pattern)
      const options = {
        ...BOUNDS,
        ignoreCase,
        literal: PLAIN.test(regex),
        ...(include === undefined ? {} : { include: includeOf(include, path) }),
      }
      const { items, truncated, cutBy } = await files.grep(target, absolutePath(session, path), regex, options)
      const found = items.map(({ path: file, line, text }) => {
        const whole = text.trimEnd()
        return { match: { file, line, content: firstCharacters(whole, LINE_CHARACTERS) }, whole }
      })
      const shown = firstThatFit(found, TOOL_RESULT_BYTES, ({ match }) => JSON.stringify(match))
      const isLineCut = shown.some(({ match, whole }) => match.content !== whole)
      const by = shown.length < found.length ? 'bytes' : truncated ? wordFor(cutBy) : isLineCut ? 'line' : null
      const matches = shown.map(({ match }) => match)
      return { ok: true, matches, total: matches.length, truncated: by !== null, truncated_by: by }
    },
  }
}

function wordFor(cutBy: SearchBound | undefined): string {
  if (cutBy === undefined || cutBy === 'matches') return 'matches'
  return cutBy === 'time' ? 'time' : 'scan'
}

/** On the name, or on the path where it has directories. */
function includeOf(include: string, path: string): string {
  return include.includes('/') ? atAnyDepth(include, path) : include
}
