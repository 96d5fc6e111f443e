/**
 * `/v1/skills`: what the models of a tenant can be taught; and `/v1/skill-archives`: how it comes in.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * Where a package lies on the server is nobody's business here.
 */
import {
  CreateSkillBody,
  HoldfastError,
  InstallSkillsQuery,
  ListSkillFilesQuery,
  MAXIMUM_SKILL_TEXT_BYTES,
  PreviewSkillsQuery,
  SkillFileList,
  SkillFileQuery,
  SkillList,
  SkillName,
  SkillPreviewList,
  SkillView,
  UpdateSkillBody,
  WrittenSkillFile,
} from '@holdfast/protocol'
import type { ErrorCode, SkillSummary } from '@holdfast/protocol'
import { z } from 'zod'
import { auditedSkills } from '../../skills/audited-skills.ts'
import { noSuchSkill } from '../../skills/skill.ts'
import type { Skill } from '../../skills/skill.ts'
import type { SkillStore } from '../../skills/skill-store.ts'
import type { Skills } from '../../skills/skills.ts'
import type { Store } from '../../store/store.ts'
import { auditedBy } from './audited-by.ts'
import { ByteContent } from './byte-content.ts'
import { moment } from './moment.ts'
import { wholeBody } from './request-body.ts'
import { bytes, empty, json, route } from './route.ts'
import type { Entered, Route, Visit } from './route.ts'
import { withUpload } from './upload.ts'

export interface SkillRoutesNeeds {
  readonly skills: Skills
  readonly store: Store
  readonly clock: () => number
}

const OneName = z.strictObject({ name: SkillName })
const ZIP = new ByteContent('application/zip', 'application/octet-stream')
const CHANGE_ERRORS: readonly ErrorCode[] = ['forbidden', 'name_taken', 'payload_too_large', 'store_full']

export function skillRoutes({ skills, store, clock }: SkillRoutesNeeds): readonly Route[] {
  const of = ({ principal }: Entered): SkillStore => skills.forTenant(principal.tenantId)
  const changing = (call: Entered & Visit): SkillStore =>
    auditedSkills({ skills: of(call), store, clock, tenantId: call.principal.tenantId, by: auditedBy(call) })

  return [
    route({
      method: 'GET',
      path: '/v1/skills',
      summary: 'List the skills of the tenant, the newest first',
      authorization: 'read-skills',
      answers: { 200: json('SkillList', SkillList, 'All of them, without their instructions') },
      errors: ['forbidden'],
      handle: async (call) => ({ status: 200, body: { items: (await of(call).list()).map(skillSummary) } }),
    }),
    route({
      method: 'POST',
      path: '/v1/skills',
      summary: 'Make a skill of a name and instructions',
      authorization: 'manage-skills',
      body: CreateSkillBody,
      answers: { 201: json('Skill', SkillView, 'The new skill') },
      errors: CHANGE_ERRORS,
      async handle(call) {
        const { name, ...fields } = call.body
        return { status: 201, body: skillView(await changing(call).create({ name, ...fieldsOf(fields) })) }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/skills/{name}',
      summary: 'Read a skill',
      authorization: 'read-skills',
      params: OneName,
      answers: { 200: json('Skill', SkillView, 'The skill with its instructions') },
      errors: ['forbidden', 'not_found'],
      async handle(call) {
        const skill = await of(call).get(call.params.name)
        if (skill === null) throw noSuchSkill(call.params.name)
        return { status: 200, body: skillView(skill) }
      },
    }),
    route({
      method: 'PATCH',
      path: '/v1/skills/{name}',
      summary: 'Change what a skill says; running sandboxes that show it follow',
      authorization: 'manage-skills',
      params: OneName,
      body: UpdateSkillBody,
      answers: { 200: json('Skill', SkillView, 'The changed skill') },
      errors: [...CHANGE_ERRORS, 'not_found'],
      handle: async (call) => ({ status: 200, body: skillView(await changing(call).update(call.params.name, fieldsOf(call.body))) }),
    }),
    route({
      method: 'DELETE',
      path: '/v1/skills/{name}',
      summary: 'Remove a skill with its files',
      authorization: 'manage-skills',
      params: OneName,
      answers: { 204: empty('It is gone') },
      errors: ['forbidden', 'not_found', 'store_full'],
      async handle(call) {
        await changing(call).remove(call.params.name)
        return { status: 204, body: null }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/skills/{name}/files/list',
      summary: 'List a directory of a skill',
      authorization: 'read-skills',
      params: OneName,
      query: ListSkillFilesQuery,
      answers: { 200: json('SkillFileList', SkillFileList, 'Its entries in the order of their names') },
      errors: ['forbidden', 'not_found'],
      async handle(call) {
        const { path, hidden, limit } = call.query
        const { basePath, entries, truncated } = await of(call).files(call.params.name, path, { includeHidden: hidden, maxEntries: limit })
        const items = entries.map(({ isDirectory, ...entry }) => ({ ...entry, is_directory: isDirectory }))
        return { status: 200, body: { base_path: basePath, items, truncated } }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/skills/{name}/files',
      summary: 'Read a text file of a skill',
      authorization: 'read-skills',
      params: OneName,
      query: SkillFileQuery,
      answers: { 200: bytes('application/octet-stream', 'The file, of at most 1 MiB of UTF-8') },
      errors: ['forbidden', 'not_found', 'payload_too_large'],
      async handle(call) {
        const { content } = await of(call).readFile(call.params.name, call.query.path)
        return { status: 200, body: new Blob([content]).stream(), headers: { 'content-type': 'application/octet-stream' } }
      },
    }),
    route({
      method: 'PUT',
      path: '/v1/skills/{name}/files',
      summary: 'Write a text file of a skill, and the directories above it',
      authorization: 'manage-skills',
      params: OneName,
      query: SkillFileQuery,
      body: new ByteContent('application/octet-stream'),
      answers: { 200: json('WrittenSkillFile', WrittenSkillFile, 'What was written') },
      errors: [...CHANGE_ERRORS, 'not_found'],
      async handle(call) {
        const content = await textOf(call.body)
        const { path, bytesWritten } = await changing(call).writeFile(call.params.name, call.query.path, content)
        return { status: 200, body: { path, bytes_written: bytesWritten } }
      },
    }),
    route({
      method: 'POST',
      path: '/v1/skill-archives/preview',
      summary: 'See which skills a zip archive holds; nothing is kept',
      authorization: 'manage-skills',
      query: PreviewSkillsQuery,
      body: ZIP,
      answers: { 200: json('SkillPreviewList', SkillPreviewList, 'The skills as they would be') },
      errors: CHANGE_ERRORS,
      async handle(call) {
        const found = await withUpload(skills.uploads, call.body, (path) => of(call).previewZip({ path }, archiveOf(call.query)))
        return { status: 200, body: { items: found.map((skill) => ({ ...skillView(skill), source_path: skill.sourcePath })) } }
      },
    }),
    route({
      method: 'POST',
      path: '/v1/skill-archives/install',
      summary: 'Install skills of a zip archive: the only one, or those that are named',
      authorization: 'manage-skills',
      query: InstallSkillsQuery,
      body: ZIP,
      answers: { 201: json('SkillList', SkillList, 'The new skills') },
      errors: CHANGE_ERRORS,
      async handle(call) {
        const { source_path: sourcePaths, ...query } = call.query
        const wish = { ...archiveOf(query), sourcePaths }
        const installed = await withUpload(skills.uploads, call.body, (path) => changing(call).installZip({ path }, wish))
        return { status: 201, body: { items: installed.map(skillSummary) } }
      },
    }),
  ]
}

function fieldsOf({ display_name: displayName, description, instructions }: z.output<typeof UpdateSkillBody>) {
  return { displayName, description, instructions }
}

function archiveOf({ filename, source_subdir: sourceSubdir, target_suffix: targetSuffix }: z.output<typeof PreviewSkillsQuery>) {
  return { filename, sourceSubdir, targetSuffix }
}

function skillSummary(skill: Skill): SkillSummary {
  return {
    ...{ name: skill.name, display_name: skill.displayName, description: skill.description },
    ...{ entry_file: skill.entryFile, python_project: skill.pythonProject },
    ...{ created_at: moment(skill.createdAt.getTime()), updated_at: moment(skill.updatedAt.getTime()) },
  }
}

function skillView(skill: Skill): SkillView {
  return { ...skillSummary(skill), instructions: skill.instructions }
}

/** All of it, up to what a skill's file may have. */
async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const whole = await wholeBody(body, MAXIMUM_SKILL_TEXT_BYTES)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(whole)
  } catch (cause) {
    throw new HoldfastError('invalid_request', 'the body is not valid UTF-8', {}, { cause })
  }
}
