/**
 * Calls about the skills of one workspace, archives of skills among them.
 */
import { SkillFileEntry, SkillInfo, SkillPreview } from '@holdfast/protocol/box'
import type { BoxContext, SkillChange } from '@holdfast/protocol/box'
import { z } from 'zod'
import type { Ask, AskOptions } from './ask.ts'
import { sendFile } from './file-transfer.ts'

export type SkillChangeInput = Readonly<Partial<SkillChange>>

export interface SkillFilesOptions {
  readonly path?: string
  readonly includeHidden?: boolean
  readonly maxEntries?: number
}

export interface SkillZipOptions {
  readonly filename: string
  readonly sourceSubdir?: string
  readonly targetSuffix?: string
}

const One = z.object({ skill: SkillInfo })
const Many = z.object({ skills: z.array(SkillInfo) })
const Of = z.object({ name: z.string() })
const Files = z.object({ skill: Of, base_path: z.string(), entries: z.array(SkillFileEntry), truncated: z.boolean() })
const File = z.object({ skill: Of, path: z.string(), content: z.string() })
const Written = z.object({ skill: Of, path: z.string(), bytes_written: z.int() })

export function skillCalls(ask: Ask, newId: () => string) {
  const zipData = (key: string, { filename, sourceSubdir = '', targetSuffix = 'upload' }: SkillZipOptions) => ({
    file_key: key,
    filename,
    source_subdir: sourceSubdir,
    target_suffix: targetSuffix,
  })
  return {
    listSkills: async (context: BoxContext, options?: AskOptions): Promise<readonly SkillInfo[]> =>
      (await ask('box_list_skills', Many, {}, context, options)).skills,
    getSkill: async (context: BoxContext, name: string, options?: AskOptions): Promise<SkillInfo | null> =>
      (await ask('box_get_skill', z.object({ skill: SkillInfo.nullable() }), { name }, context, options)).skill,
    createSkill: async (context: BoxContext, skill: SkillChangeInput & { readonly name: string }, options?: AskOptions) =>
      (await ask('box_create_skill', One, { skill }, context, options)).skill,
    updateSkill: async (context: BoxContext, name: string, skill: SkillChangeInput, options?: AskOptions) =>
      (await ask('box_update_skill', One, { name, skill }, context, options)).skill,
    deleteSkill: (context: BoxContext, name: string, options?: AskOptions) =>
      ask('box_delete_skill', z.object({ deleted: z.string() }), { name }, context, options),
    scanSkillDirectory: (context: BoxContext, path: string, options?: AskOptions) =>
      ask('box_scan_skill_directory', SkillInfo, { path }, context, options),
    listSkillFiles(context: BoxContext, name: string, files: SkillFilesOptions = {}, options?: AskOptions) {
      const { path = '.', includeHidden = false, maxEntries = 200 } = files
      return ask('box_list_skill_files', Files, { name, path, include_hidden: includeHidden, max_entries: maxEntries }, context, options)
    },
    readSkillFile: (context: BoxContext, name: string, path: string, options?: AskOptions) =>
      ask('box_read_skill_file', File, { name, path }, context, options),
    writeSkillFile: (context: BoxContext, name: string, path: string, content: string, options?: AskOptions) =>
      ask('box_write_skill_file', Written, { name, path, content }, context, options),
    async previewSkillZip(context: BoxContext, zip: Uint8Array, zipOptions: SkillZipOptions, options?: AskOptions) {
      const key = await sendFile(ask, zip, newId, options)
      const answer = z.object({ skills: z.array(SkillPreview) })
      return (await ask('box_preview_skill_zip', answer, zipData(key, zipOptions), context, options)).skills
    },
    /** `sourcePaths` names packages of the archive; none where it holds one. */
    async installSkillZip(
      context: BoxContext,
      zip: Uint8Array,
      { sourcePaths = [], ...zipOptions }: SkillZipOptions & { readonly sourcePaths?: readonly string[] },
      options?: AskOptions,
    ) {
      const key = await sendFile(ask, zip, newId, options)
      const data = { ...zipData(key, zipOptions), source_paths: sourcePaths, source_path: '' }
      return (await ask('box_install_skill_zip', Many, data, context, options)).skills
    },
  }
}
