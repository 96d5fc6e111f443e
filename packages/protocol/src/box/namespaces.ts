/**
 * The names that keep workspaces apart. Both ends compute them, so they are exactly these.
 */
import { createHash } from 'node:crypto'
import { BoxError } from './box-error.ts'

/** `ws-` and 24 hexadecimal digits: what lasts (skills, directories) is kept under it. */
export function workspaceNamespace(instance: string, workspace: string): string {
  return `ws-${createHash('sha256').update(`${instance}\0${workspace}`, 'utf8').digest('hex').slice(0, 24)}`
}

/** Sessions belong to one generation of a workspace. */
export function placementNamespace(instance: string, workspace: string, generation: number): string {
  return `${workspaceNamespace(instance, workspace)}-g${generation}`
}

/** What a caller gets back for its session id. Throws `ValueError` when nothing is left of it. */
export function sanitizedSessionId(logicalId: string): string {
  const sanitized = logicalId.replaceAll(/[^A-Za-z0-9_.-]+/g, '-').replaceAll(/^-+|(?<!-)-+$/g, '')
  if (sanitized === '') throw new BoxError('ValueError', 'session_id: must contain a letter, a digit, "_" or "."')
  return sanitized
}

/** The id in the relay's address. */
export function physicalSessionId(placement: string, logicalId: string): string {
  return `${placement}-${sanitizedSessionId(logicalId)}`
}
