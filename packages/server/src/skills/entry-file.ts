/**
 * The entry file of a package, written anew: in one step, and with everything kept that is not ours.
 *
 * Stands beside the flow.
 */
import { rename, writeFile } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import { randomId } from '../home/random-id.ts'
import { inside } from './directory-handle.ts'
import { ENTRY_FILES } from './discovery.ts'
import { parseSkillText, rewriteSkillText } from './front-matter.ts'
import { MAXIMUM_TEXT_BYTES } from './read-package.ts'
import type { ReadPackage } from './read-package.ts'
import { shortened } from './skill.ts'
import type { SkillFields } from './skill.ts'

/** `making` is a directory of the server's on the same disk. */
export async function writeEntry(opened: FileHandle, making: string, entryFile: string, text: string): Promise<void> {
  if (Buffer.byteLength(text) > MAXIMUM_TEXT_BYTES)
    throw new HoldfastError('payload_too_large', `instructions: the skill's text is larger than ${MAXIMUM_TEXT_BYTES} bytes (1 MiB)`)
  const draft = join(making, randomId('draft'))
  await writeFile(draft, text, { mode: 0o644, flag: 'wx' })
  await rename(draft, inside(opened, entryFile))
}

/** A directory becomes the package of this name; blank fields are those of `imported`, what it is by now. */
export async function nameSkill(
  opened: FileHandle,
  making: string,
  name: string,
  fields: SkillFields,
  imported: ReadPackage | null,
): Promise<void> {
  const own = imported === null ? null : parseSkillText(imported.text)
  const text = rewriteSkillText(imported?.text ?? '', {
    name,
    displayName: filled(fields.displayName, own?.displayName),
    description: filled(fields.description, own?.description),
    instructions: filled(fields.instructions, own?.instructions),
  })
  await writeEntry(opened, making, imported?.skill.entryFile ?? ENTRY_FILES[0], text)
}

/** Throws unless this text can be read and has the same name; `fallback` is that of the directory. */
export function checkEntryText(text: string, name: string, fallback: string): void {
  const given = parseSkillText(text).name.trim()
  const named = given === '' ? fallback : given
  if (named !== name)
    throw new HoldfastError('invalid_request', `content: would rename the skill '${name}' to '${shortened(named)}'; a skill keeps its name`)
}

/** The first that is not blank. */
export function filled(...values: readonly (string | undefined)[]): string {
  return values.find((value) => value !== undefined && value.trim() !== '') ?? ''
}
