/**
 * Virtual environments of Python in paths of the host: their programs are links into a system that the box does not have.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 */

export const VENV_NAMES = ['.venv', 'venv', 'env', '.env'] as const
const PROGRAM = /^(?<venv>(?<project>\/.*|)\/(?:\.venv|venv|env|\.env))\/(?:bin|Scripts)\/(?<name>[^/]+)$/

export interface VenvProgram {
  readonly venv: string
  /** What the environment lies in. */
  readonly project: string
  /** As it is found in the `PATH` of the box. */
  readonly program: string
}

/** `null` for a path of any other form. */
export function venvProgram(path: string): VenvProgram | null {
  const { venv, project, name } = PROGRAM.exec(path)?.groups ?? {}
  if (venv === undefined || name === undefined) return null
  return { venv, project: project === '' || project === undefined ? '/' : project, program: boxProgram(name) }
}

/** Whatever version the host's has, the box has its own. */
function boxProgram(name: string): string {
  const program = name.replace(/\.exe$/i, '')
  return /^pythonw?[\d.]*$/.test(program) ? 'python3' : program
}
