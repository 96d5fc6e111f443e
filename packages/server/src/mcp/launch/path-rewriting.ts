/**
 * Paths of the host in a command line → paths of the box, wherever in a word they stand.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * A path is known by what is around it: the beginning of a word, `=`, `:`, a quote, a blank before it, and an end of the same kinds. So
 * `--file=/project/x`, `/project/a:/project/b` and `cd /project && …` are rewritten, and `/project-old` and `/other/project` are not.
 */
import { isWithin, tidy } from './host-paths.ts'
import type { Project } from './project-root.ts'
import { venvProgram } from './virtual-environment.ts'

export interface Rewriting {
  readonly project: Project | null
  /** Where the project is in the box. */
  readonly into: string
  /** The environment that is made in the box, where one is. */
  readonly venv: string | null
}

/** What a path ends at, for a class of a pattern. */
const EDGE = '\\s:;,"\'`()\\[\\]{}<>|&=?#*\\\\'
const BEFORE = String.raw`(?<=^|[${EDGE}@]|:\/\/\/?)`
const REST = String.raw`(?:\/[^${EDGE}]*)?(?=$|[${EDGE}])`
const FLAG_VALUE = /^((?:-{1,2}[\w.-]+|[A-Za-z_]\w*)=)?(\/.*)$/s

/** The text as the box is to be given it. */
export function rewriter({ project, into, venv }: Rewriting): (text: string) => string {
  if (project === null) return (text) => text
  const { root, venvs } = project
  const trees = [root, ...venvs].toSorted((one, other) => other.length - one.length).map((tree) => literally(tree))
  const pattern = new RegExp(`${BEFORE}(?:${trees.join('|')})${REST}`, 'gu')

  function boxPath(match: string): string {
    const path = tidy(match)
    const home = venvs.find((each) => isWithin(path, each))
    const program = home === undefined ? null : venvProgram(path)
    if (program !== null && program.venv === home) return program.program
    if (home !== undefined && venv !== null) return venv + path.slice(home.length)
    return isWithin(path, root) ? into + path.slice(root.length) : match
  }

  /** One that is written in a roundabout way, as a whole word. */
  function straightened(text: string): string {
    const [, flag = '', path] = FLAG_VALUE.exec(text) ?? []
    return path !== undefined && path !== tidy(path) && isWithin(tidy(path), root) ? flag + tidy(path) : text
  }

  return (text) => straightened(text).replace(pattern, boxPath)
}

function literally(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`)
}
