/**
 * Paths of the host in a configuration: which there are, and which directories can never be a project.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * Only text is looked at here. What begins with a directory that every box has is the box's own.
 */
import { posix } from 'node:path'
import type { McpServerConfig } from '@holdfast/protocol/mcp'

export interface NamedPath {
  /** Of the configuration. */
  readonly field: string
  /** Absolute and normal. */
  readonly path: string
}

/** What is named there is a program or a file of the box. */
const BOX_TREES = ['/bin', '/boot', '/dev', '/etc', '/lib', '/lib32', '/lib64', '/libx32', '/proc', '/run', '/sbin', '/sys', '/usr']
/** Hold projects of many, and are none. */
const GATHERING_PLACES = [
  ...['/', '/data', '/home', '/media', '/mnt', '/opt', '/root', '/srv', '/tmp', '/var'],
  ...['/Applications', '/Library', '/System', '/Users', '/Volumes'],
]
const HOME = /^\/(?:home|Users)\/[^/]+$/
const FLAG = /^(?:-{1,2}[\w.-]+|[A-Za-z_]\w*)=(?=\/)/

/** The absolute paths that the command line names, each for itself or behind `--flag=`. */
export function namedPaths(
  { command, args, cwd }: Pick<McpServerConfig, 'command' | 'args' | 'cwd'>,
  workspace: string,
): readonly NamedPath[] {
  const words = [
    { field: 'command', word: command },
    { field: 'cwd', word: cwd ?? '' },
    ...args.map((word, index) => ({ field: `args.${index}`, word })),
  ]
  const paths = words.map(({ field, word }) => ({ field, path: word.replace(FLAG, '') }))
  return paths
    .filter(({ path }) => path.startsWith('/'))
    .map(({ field, path }) => ({ field, path: tidy(path) }))
    .filter(isOfTheHost)

  function isOfTheHost({ path }: NamedPath): boolean {
    return ![...BOX_TREES, workspace].some((tree) => isWithin(path, tree))
  }
}

/** `null` when it may be a project; else what it is, for a sentence. */
export function whyNoProject(path: string): string | null {
  if (path === '/') return 'the whole host'
  if (HOME.test(path) || path === '/root') return 'a home directory'
  if (GATHERING_PLACES.includes(path) || BOX_TREES.some((tree) => isWithin(path, tree))) return 'a directory of the system'
  return null
}

export function commonParent(paths: readonly string[]): string {
  const [first = '/', ...others] = paths
  return others.reduce((parent, path) => {
    let common = parent
    while (!isWithin(path, common)) common = posix.dirname(common)
    return common
  }, first)
}

export function isWithin(path: string, tree: string): boolean {
  return path === tree || tree === '/' || path.startsWith(`${tree}/`)
}

/** Without `.`, `..`, doubled slashes, and one at the end. */
export function tidy(path: string): string {
  return posix.resolve('/', path)
}
