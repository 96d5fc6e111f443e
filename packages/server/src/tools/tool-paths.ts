/**
 * Paths as a model writes them → paths inside the sandbox of its session.
 *
 * ingress → [tools] → access → policy → sessions → sandboxes → guest → result
 *
 * Models are told of `/workspace`. A session that shares its sandbox has its workspace elsewhere, and `/workspace` means that one.
 */
import { DEFAULT_WORKSPACE } from '@holdfast/protocol'
import { innerPath } from '../sessions/files/inner-path.ts'
import { inhabitantOf } from '../sessions/habitats.ts'
import type { SessionRow } from '../store/tables/sessions.ts'

export function absolutePath(session: SessionRow, path: string): string {
  const isInWorkspace = path === DEFAULT_WORKSPACE || path.startsWith(`${DEFAULT_WORKSPACE}/`)
  const inhabitant = inhabitantOf(session)
  if (!isInWorkspace || inhabitant === null) return innerPath({ inhabitant }, path)
  return `${inhabitant.workspace}${path.slice(DEFAULT_WORKSPACE.length)}`
}
