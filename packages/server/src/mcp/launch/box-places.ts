/**
 * Where the things of one MCP server are in its box.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * All of it lies in the workspace, so it outlives the sandbox: the next one installs nothing anew.
 */
import { posix } from 'node:path'
import { DEFAULT_WORKSPACE } from '@holdfast/protocol'

export interface BoxPlaces {
  /** Holds all the others. */
  readonly base: string
  /** The copy of the project, or where it is mounted. */
  readonly project: string
  /** Says of which state of the project that is a copy. */
  readonly projectNote: string
  /** Made here, with the Python of the box. */
  readonly venv: string
  readonly cache: string
  readonly tmp: string
}

/** `workspace`: where the session's is, which is elsewhere in a sandbox that several share. */
export function boxPlaces(name: string, workspace: string = DEFAULT_WORKSPACE): BoxPlaces {
  const base = posix.join(workspace, '.mcp', name)
  return {
    base,
    project: `${base}/project`,
    projectNote: `${base}/project.copied`,
    venv: `${base}/.venv`,
    cache: `${base}/.cache`,
    tmp: `${base}/.tmp`,
  }
}
