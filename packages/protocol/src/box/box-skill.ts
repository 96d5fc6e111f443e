/**
 * Skills on the Box wire: what is sent to make and change them, and how one is shown.
 */
import { z } from 'zod'
import { laxBoolean, laxInteger, plainText } from './lax.ts'

export const SkillInfo = z.object({
  name: z.string(),
  display_name: z.string().default(''),
  description: z.string().default(''),
  instructions: z.string().default(''),
  /** Absolute, on the server. */
  package_root: z.string(),
  entry_file: z.string().default('SKILL.md'),
  python_project: z.boolean().default(false),
  created_at: z.string().optional(),
  updated_at: z.string().optional(),
})
export type SkillInfo = z.output<typeof SkillInfo>

/** In an uploaded archive, before it is installed. */
export const SkillPreview = SkillInfo.extend({ source_path: z.string().default('') })
export type SkillPreview = z.output<typeof SkillPreview>

export const SkillFileEntry = z.object({ path: z.string(), name: z.string(), is_dir: z.boolean(), size: z.int().nullable() })
export type SkillFileEntry = z.output<typeof SkillFileEntry>

const optionalText = plainText.nullish().transform((value) => value ?? undefined)

export const SkillChange = z.object({
  name: optionalText,
  display_name: optionalText,
  description: optionalText,
  instructions: optionalText,
  package_root: optionalText,
})
export type SkillChange = z.output<typeof SkillChange>

export const CreateSkillData = z.object({ skill: SkillChange.extend({ name: plainText }) })
export const UpdateSkillData = z.object({ name: plainText, skill: SkillChange })
export const NamedSkillData = z.object({ name: plainText })
export const ScanSkillData = z.object({ path: plainText })
export const ListSkillFilesData = z.object({
  name: plainText,
  path: plainText.default('.'),
  include_hidden: laxBoolean.default(false),
  max_entries: laxInteger.pipe(z.int().positive({ error: 'must be above 0' })).default(200),
})
export const SkillFileData = z.object({ name: plainText, path: plainText })
export const WriteSkillFileData = SkillFileData.extend({ content: plainText })

const textOrNothing = plainText.nullish().transform((value) => value ?? '')

export const PreviewSkillZipData = z.object({
  file_key: plainText,
  filename: textOrNothing,
  source_subdir: textOrNothing,
  target_suffix: plainText.nullish().transform((value) => value ?? 'upload'),
})
export const InstallSkillZipData = PreviewSkillZipData.extend({
  source_paths: z
    .array(plainText, { error: 'must be a list of texts' })
    .nullish()
    .transform((value) => value ?? []),
  source_path: textOrNothing,
})
