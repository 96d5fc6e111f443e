/**
 * A skill: a directory with instructions for a model, and whatever they need. And the names that skills may have.
 *
 * Stands beside the flow.
 */
import { HoldfastError } from '@holdfast/protocol'

export interface Skill {
  readonly name: string
  readonly displayName: string
  readonly description: string
  readonly instructions: string
  /** Absolute, on the host. */
  readonly packageRoot: string
  /** Holds front matter and instructions; `SKILL.md`, or `skill.md` where a package came with that. */
  readonly entryFile: string
  readonly pythonProject: boolean
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** Left out: stays as it is. Empty: none. */
export interface SkillFields {
  readonly displayName?: string | undefined
  readonly description?: string | undefined
  readonly instructions?: string | undefined
}

export const MAXIMUM_NAME_LENGTH = 64
const NAME = /^[\p{L}\p{N}_-]+$/u
/** What a file system takes for one name, with room for what the server adds. */
const MAXIMUM_NAME_BYTES = 240

export function isSkillName(name: string): boolean {
  return NAME.test(name) && Array.from(name).length <= MAXIMUM_NAME_LENGTH && Buffer.byteLength(name) <= MAXIMUM_NAME_BYTES
}

export function checkSkillName(name: string): string {
  if (isSkillName(name)) return name
  throw new HoldfastError(
    'invalid_request',
    `name: '${shortened(name)}' cannot be the name of a skill; use 1 to ${MAXIMUM_NAME_LENGTH} letters, digits, '-' and '_'`,
  )
}

export function noSuchSkill(name: string): HoldfastError {
  return new HoldfastError('not_found', `there is no skill '${shortened(name)}'`)
}

/** What somebody sent, short enough for a sentence. */
export function shortened(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}
