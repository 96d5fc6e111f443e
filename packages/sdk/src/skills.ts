/**
 * Skills of a tenant: what its models can be taught.
 */
import type { SkillFileView, SkillSummary, SkillView } from '@holdfast/protocol'
import { callOf } from './call-options.ts'
import type { CallOptions } from './call-options.ts'
import { bodyOf } from './input.ts'
import type { Content } from './input.ts'
import type { Transport } from './transport/transport.ts'
import { camel, snake } from './wire-names.ts'

export interface SkillRecord {
  readonly name: string
  readonly displayName: string
  readonly description: string
  /** Holds the instructions, and the facts in front of them. */
  readonly entryFile: string
  /** Its commands run in a Python environment of its own. */
  readonly pythonProject: boolean
  readonly createdAt: string
  readonly updatedAt: string
}

export interface Skill extends SkillRecord {
  /** What a model is told when it uses the skill. */
  readonly instructions: string
}

export interface SkillInArchive extends Skill {
  /** Where in the archive; empty for its top. */
  readonly sourcePath: string
}

/** Left out: stays as it is. */
export interface SkillFields {
  readonly displayName?: string | undefined
  readonly description?: string | undefined
  readonly instructions?: string | undefined
}

export interface SkillFile {
  readonly path: string
  readonly name: string
  readonly isDirectory: boolean
  /** Of a regular file. */
  readonly size: number | null
}

export interface SkillFileList {
  readonly basePath: string
  readonly items: readonly SkillFile[]
  readonly truncated: boolean
}

export interface SkillArchiveOptions extends CallOptions {
  /** Of the archive; new directories are named after it. */
  readonly filename?: string | undefined
  /** Only what lies in this directory of the archive. */
  readonly sourceSubdir?: string | undefined
  /** At the end of the name of each new directory; `upload` unless given. */
  readonly targetSuffix?: string | undefined
}

export interface Skills {
  /** The newest first, without their instructions. */
  list(options?: CallOptions): Promise<readonly SkillRecord[]>
  get(name: string, options?: CallOptions): Promise<Skill>
  create(options: CallOptions & SkillFields & { readonly name: string }): Promise<Skill>
  /** Sandboxes that show it follow. */
  update(name: string, options: CallOptions & SkillFields): Promise<Skill>
  /** With its files. */
  remove(name: string, options?: CallOptions): Promise<void>
  /** One directory of the package; its top unless `path` is given. */
  files(
    name: string,
    options?: CallOptions & {
      readonly path?: string | undefined
      readonly hidden?: boolean | undefined
      readonly limit?: number | undefined
    },
  ): Promise<SkillFileList>
  /** A text file of at most 1 MiB. */
  readFile(name: string, path: string, options?: CallOptions): Promise<string>
  writeFile(
    name: string,
    path: string,
    content: Content,
    options?: CallOptions,
  ): Promise<{ readonly path: string; readonly bytesWritten: number }>
  /** What a zip archive holds; nothing is kept. */
  preview(archive: Content, options?: SkillArchiveOptions): Promise<readonly SkillInArchive[]>
  /** The only package of a zip archive, or those that are named as the preview names them. */
  install(
    archive: Content,
    options?: SkillArchiveOptions & { readonly sourcePaths?: readonly string[] | undefined },
  ): Promise<readonly SkillRecord[]>
}

export function createSkills(transport: Transport): Skills {
  const path = '/v1/skills'
  const pathOf = (name: string) => `${path}/${encodeURIComponent(name)}`

  async function send<T>(
    verb: 'preview' | 'install',
    archive: Content,
    { filename, sourceSubdir, targetSuffix, ...options }: SkillArchiveOptions,
    sourcePaths?: readonly string[],
  ): Promise<readonly T[]> {
    const { items } = await transport.json<{ readonly items: readonly T[] }>({
      ...{ method: 'POST', path: `/v1/skill-archives/${verb}`, isOnce: true },
      query: { filename, source_subdir: sourceSubdir, target_suffix: targetSuffix, source_path: sourcePaths },
      body: await bodyOf(archive),
      headers: { 'content-type': 'application/zip' },
      ...callOf(options),
    })
    return items
  }

  return {
    async list(options = {}) {
      const { items } = await transport.json<{ readonly items: readonly SkillSummary[] }>({ path, ...callOf(options) })
      return items.map((wire) => camel(wire))
    },
    get: async (name, options = {}) => camel(await transport.json<SkillView>({ path: pathOf(name), ...callOf(options) })),
    async create({ name, displayName, description, instructions, ...options }) {
      const json = snake({ name, displayName, description, instructions })
      return camel(await transport.json<SkillView>({ method: 'POST', path, json, ...callOf(options) }))
    },
    async update(name, { displayName, description, instructions, ...options }) {
      const json = snake({ displayName, description, instructions })
      return camel(await transport.json<SkillView>({ method: 'PATCH', path: pathOf(name), json, ...callOf(options) }))
    },
    remove: (name, options = {}) => transport.send({ method: 'DELETE', path: pathOf(name), ...callOf(options) }),
    async files(name, { path: directory, hidden, limit, ...options } = {}) {
      const query = { path: directory, hidden, limit }
      const wire = await transport.json<{ base_path: string; items: readonly SkillFileView[]; truncated: boolean }>({
        ...{ path: `${pathOf(name)}/files/list`, query },
        ...callOf(options),
      })
      return { basePath: wire.base_path, items: wire.items.map((item) => camel(item)), truncated: wire.truncated }
    },
    async readFile(name, file, options = {}) {
      const request = { path: `${pathOf(name)}/files`, query: { path: file }, headers: { accept: '*/*' }, ...callOf(options) }
      const answer = await transport.open(request)
      try {
        return await answer.response.text().catch((cause: unknown) => {
          throw answer.broken(cause)
        })
      } finally {
        answer.close()
      }
    },
    async writeFile(name, file, content, options = {}) {
      return camel(
        await transport.json<{ path: string; bytes_written: number }>({
          ...{ method: 'PUT', path: `${pathOf(name)}/files`, query: { path: file }, body: await bodyOf(content) },
          headers: { 'content-type': 'application/octet-stream' },
          ...callOf(options),
        }),
      )
    },
    preview: async (archive, options = {}) =>
      (await send<SkillView & { readonly source_path: string }>('preview', archive, options)).map((wire) => camel(wire)),
    install: async (archive, { sourcePaths, ...options } = {}) =>
      (await send<SkillSummary>('install', archive, options, sourcePaths)).map((wire) => camel(wire)),
  }
}
