/**
 * `glob`: the newest files that match a pattern.
 *
 * ingress → [tools] → access → policy → sessions → sandboxes → guest → result
 */
import { TOOL_RESULT_BYTES } from '@holdfast/protocol'
import type { SessionFiles } from '../sessions/session-files.ts'
import { firstThatFit } from './clipped-text.ts'
import type { Tool } from './tool.ts'
import { ToolFailure } from './tool-failure.ts'
import { absolutePath } from './tool-paths.ts'

const BOUNDS = { limit: 100, maxEntries: 100_000, skipIgnored: true, newestFirst: true, timeoutMs: 30_000 } as const

export function globTool(files: Pick<SessionFiles, 'glob'>): Tool<'glob'> {
  return {
    name: 'glob',
    description:
      'Find files in your sandbox by a pattern such as *.py or src/**/*.ts, the newest first. ' +
      'Directories such as .git, node_modules, .venv, dist and build are left out.',
    async run({ target, session }, { pattern, path }) {
      const root = absolutePath(session, path)
      const { items, truncated, cutBy, total = items.length } = await files.glob(target, root, atAnyDepth(pattern, path), BOUNDS)
      const paths = items.map((entry) => entry.path)
      const matches = [...firstThatFit(paths, TOOL_RESULT_BYTES, (match) => match)]
      const scan = truncated && cutBy !== 'matches' && cutBy !== undefined ? 'scan' : null
      const by = scan ?? (matches.length < paths.length ? 'bytes' : truncated ? 'matches' : null)
      return { ok: true, matches, total, truncated: by !== null, truncated_by: by }
    },
  }
}

/** Below `path`, wherever that is: `*.py` and `src/*.ts` mean what they mean in any directory. */
export function atAnyDepth(pattern: string, path: string): string {
  const start = `${path.replace(/(?<!\/)\/+$/, '')}/`
  const below = pattern.startsWith(start) ? pattern.slice(start.length) : pattern
  if (below.startsWith('/')) throw new ToolFailure(`pattern: must be relative to path, which is ${path}`)
  return below.startsWith('**/') ? below : `**/${below.replace(/^(?:\.\/+)+/, '')}`
}
