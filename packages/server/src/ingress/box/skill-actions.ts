/**
 * Skills of one workspace: the store's words put into the wire's.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * But for listing and getting, whatever goes wrong is a `BoxValidationError` to the client.
 */
import { isHoldfastError } from '@holdfast/protocol'
import {
  BoxError,
  boxSkillTime,
  CreateSkillData,
  InstallSkillZipData,
  isBoxError,
  ListSkillFilesData,
  NamedSkillData,
  PreviewSkillZipData,
  ScanSkillData,
  SkillFileData,
  UpdateSkillData,
  WriteSkillFileData,
} from '@holdfast/protocol/box'
import type { SkillChange, SkillInfo } from '@holdfast/protocol/box'
import type { Skill } from '../../skills/skill.ts'
import { readData, textField } from './action.ts'
import type { TenantAction, TenantActions } from './action.ts'
import type { BoxRuntime } from './runtime.ts'

export function skillActions({ skills }: Pick<BoxRuntime, 'skills'>): TenantActions {
  return {
    box_list_skills: async (tenant) => ({ skills: (await skills(tenant).list()).map(skillInfo) }),
    box_get_skill: async (tenant, { data }) => {
      const skill = await skills(tenant).get(textField(data, 'name'))
      return { skill: skill === null ? null : skillInfo(skill) }
    },
    box_create_skill: validated(async (tenant, { data }) => {
      const { skill } = readData(CreateSkillData, data)
      return { skill: skillInfo(await skills(tenant).create({ name: skill.name, ...fieldsOf(skill) })) }
    }),
    box_update_skill: validated(async (tenant, { data }) => {
      const { name, skill } = readData(UpdateSkillData, data)
      return { skill: skillInfo(await skills(tenant).update(name, { name: skill.name, ...fieldsOf(skill) })) }
    }),
    box_delete_skill: validated(async (tenant, { data }) => {
      const { name } = readData(NamedSkillData, data)
      await skills(tenant).remove(name)
      return { deleted: name }
    }),
    box_scan_skill_directory: validated(async (tenant, { data }) =>
      skillInfo(await skills(tenant).scan(readData(ScanSkillData, data).path)),
    ),
    box_list_skill_files: validated(async (tenant, { data }) => {
      const { name, path, include_hidden: includeHidden, max_entries: maxEntries } = readData(ListSkillFilesData, data)
      const { basePath, entries, truncated } = await skills(tenant).files(name, path, { includeHidden, maxEntries })
      return {
        skill: { name },
        base_path: basePath,
        entries: entries.map(({ isDirectory, path: entryPath, name: entryName, size }) => ({
          ...{ path: entryPath, name: entryName },
          ...{ is_dir: isDirectory, size },
        })),
        truncated,
      }
    }),
    box_read_skill_file: validated(async (tenant, { data }) => {
      const { name, path } = readData(SkillFileData, data)
      return { skill: { name }, ...(await skills(tenant).readFile(name, path)) }
    }),
    box_write_skill_file: validated(async (tenant, { data }) => {
      const { name, path, content } = readData(WriteSkillFileData, data)
      const { path: written, bytesWritten } = await skills(tenant).writeFile(name, path, content)
      return { skill: { name }, path: written, bytes_written: bytesWritten }
    }),
    box_preview_skill_zip: validated(async (tenant, { data, files }) => {
      const { file_key: key, filename, source_subdir: sourceSubdir, target_suffix: targetSuffix } = readData(PreviewSkillZipData, data)
      const found = await files.use(key, async (archive) =>
        skills(tenant).previewZip({ path: archive }, { filename, sourceSubdir, targetSuffix }),
      )
      return { skills: found.map((skill) => ({ ...skillInfo(skill), source_path: skill.sourcePath })) }
    }),
    box_install_skill_zip: validated(async (tenant, { data, files }) => {
      const {
        file_key: key,
        filename,
        source_subdir: sourceSubdir,
        target_suffix: targetSuffix,
        ...chosen
      } = readData(InstallSkillZipData, data)
      const sourcePaths = chosen.source_paths.length === 0 && chosen.source_path !== '' ? [chosen.source_path] : chosen.source_paths
      const wish = { filename, sourceSubdir, targetSuffix, sourcePaths }
      const installed = await files.use(key, async (archive) => skills(tenant).installZip({ path: archive }, wish))
      return { skills: installed.map(skillInfo) }
    }),
  }
}

/** Blank fields of what is made, and absent ones of what is changed, are the store's to fill. */
function fieldsOf({ display_name: displayName, description, instructions, package_root: packageRoot }: SkillChange) {
  return { displayName, description, instructions, packageRoot }
}

export function skillInfo(skill: Skill): SkillInfo {
  return {
    name: skill.name,
    display_name: skill.displayName,
    description: skill.description,
    instructions: skill.instructions,
    package_root: skill.packageRoot,
    entry_file: skill.entryFile,
    python_project: skill.pythonProject,
    created_at: boxSkillTime(skill.createdAt),
    updated_at: boxSkillTime(skill.updatedAt),
  }
}

function validated(action: TenantAction): TenantAction {
  return async (tenant, call) => {
    try {
      return await action(tenant, call)
    } catch (cause) {
      // Whoever left or was overtaken is told so; and a bug stays one.
      if (!isHoldfastError(cause) || isBoxError(cause) || call.signal.aborted) throw cause
      throw new BoxError('BoxValidationError', cause.message, {}, { cause })
    }
  }
}
