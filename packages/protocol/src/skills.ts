/**
 * Skills on the wire: what a tenant's models can be taught. Contents of files and archives travel as raw bytes and have no shape here.
 */
import { z } from 'zod'
import { queryNumber } from './paging.ts'

export const MAXIMUM_SKILL_TEXT_BYTES = 1024 * 1024
export const MAXIMUM_SKILL_ARCHIVE_BYTES = 20 * 1024 * 1024
export const DEFAULT_SKILL_FILES = 200
export const MAXIMUM_SKILL_FILES = 1_000

const NAME_PROBLEM = 'must be 1 to 64 letters, digits, "-" and "_"'

export const SkillName = z
  .string({ error: NAME_PROBLEM })
  .regex(/^[\p{L}\p{N}_-]{1,64}$/u, { error: NAME_PROBLEM })
  .meta({ description: 'Letters and digits of any script.' })

const text = (what: string) => z.string({ error: `must be ${what}` }).max(MAXIMUM_SKILL_TEXT_BYTES, { error: 'must be at most 1 MiB' })

export const SkillFieldsShape = {
  display_name: text('a name for people').optional(),
  /** What it is good for: a model chooses by it. */
  description: text('a text').optional(),
  /** What a model is told when it uses the skill. */
  instructions: text('a text').optional(),
}

export const CreateSkillBody = z.strictObject({ name: SkillName, ...SkillFieldsShape })
/** What is left out stays as it is. */
export const UpdateSkillBody = z.strictObject(SkillFieldsShape)

export const SkillSummary = z.object({
  name: z.string(),
  display_name: z.string(),
  description: z.string(),
  /** Holds the instructions, and what is said here in front of them. */
  entry_file: z.string(),
  /** Its commands run in a Python environment of its own. */
  python_project: z.boolean(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
})
export type SkillSummary = z.output<typeof SkillSummary>
export const SkillView = SkillSummary.extend({ instructions: z.string() })
export type SkillView = z.output<typeof SkillView>
export const SkillList = z.object({ items: z.array(SkillSummary) })

export const SkillPath = z
  .string({ error: 'must be a path' })
  .max(1024, { error: 'must be at most 1024 characters' })
  .meta({ description: 'From the top of the package; never out of it.' })

export const SkillFileQuery = z.strictObject({ path: SkillPath.min(1, { error: 'must not be empty' }) })
export const ListSkillFilesQuery = z.strictObject({
  path: SkillPath.default('.'),
  hidden: z
    .enum(['true', 'false'], { error: 'must be true or false' })
    .transform((word) => word === 'true')
    .prefault('false')
    .meta({ description: 'Also names that begin with a dot.' }),
  limit: queryNumber(1, MAXIMUM_SKILL_FILES).prefault(`${DEFAULT_SKILL_FILES}`).meta({ description: 'How many entries at most.' }),
})

export const SkillFileView = z.object({
  path: z.string(),
  name: z.string(),
  is_directory: z.boolean(),
  /** Of a regular file. */
  size: z.int().nullable(),
})
export type SkillFileView = z.output<typeof SkillFileView>
export const SkillFileList = z.object({
  base_path: z.string(),
  items: z.array(SkillFileView),
  /** There is more than was asked for. */
  truncated: z.boolean(),
})
export const WrittenSkillFile = z.object({ path: z.string(), bytes_written: z.int() })

const ArchiveShape = {
  filename: z
    .string({ error: 'must be the name of the archive' })
    .max(255, { error: 'must be at most 255 characters' })
    .default('skill.zip'),
  source_subdir: SkillPath.optional().meta({ description: 'Only what lies in this directory of the archive.' }),
  target_suffix: z.string().max(64, { error: 'must be at most 64 characters' }).optional().meta({
    description: 'At the end of the name of the new directory; "upload" unless given.',
  }),
}
export const PreviewSkillsQuery = z.strictObject(ArchiveShape)
export const InstallSkillsQuery = z.strictObject({
  ...ArchiveShape,
  source_path: z.array(SkillPath).max(100, { error: 'must name at most 100 packages' }).optional().meta({
    description: 'Which of several packages, as the preview calls them.',
  }),
})
export const SkillPreview = SkillView.extend({
  /** Where in the archive; empty for its top. */
  source_path: z.string(),
})
export const SkillPreviewList = z.object({ items: z.array(SkillPreview) })
