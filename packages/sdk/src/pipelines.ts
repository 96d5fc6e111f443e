/**
 * Pipelines: how each kind of conversation gets its session. Those that a tenant stores can be changed here; those of the configuration
 * file are read-only.
 */
import type { PipelineList, PipelineView } from '@holdfast/protocol'
import { callOf } from './call-options.ts'
import type { CallOptions } from './call-options.ts'
import type { DefinitionFacts } from './profiles.ts'
import { ifMatch } from './session.ts'
import type { Transport } from './transport/transport.ts'
import { camel, snake } from './wire-names.ts'

export interface Pipeline extends DefinitionFacts {
  readonly name: string
  /** The name of a scope, or a template. */
  readonly scope: string
  /** `null`: the server's own settings. */
  readonly profile: string | null
  readonly skills: readonly string[]
}

/** What is left out is what a request without a pipeline gets. */
export interface PipelineSettings {
  readonly scope?: string | undefined
  readonly profile?: string | undefined
  readonly skills?: readonly string[] | undefined
}

export interface Pipelines {
  /** The scope of every pipeline, whatever it says; `null` where none is forced. */
  readonly forcedScope: string | null
  readonly items: readonly Pipeline[]
}

/** `pipelines()` lists all of them. */
export interface PipelinesApi {
  (options?: CallOptions): Promise<Pipelines>
  get(name: string, options?: CallOptions): Promise<Pipeline>
  create(name: string, settings: PipelineSettings, options?: CallOptions): Promise<Pipeline>
  /** Replaces all settings, if the pipeline still has this version. Sessions that exist keep what they were made with. */
  replace(name: string, settings: PipelineSettings, options: CallOptions & { readonly ifVersion: number }): Promise<Pipeline>
  /** Sessions that were made for it live on. */
  remove(name: string, options?: CallOptions & { readonly ifVersion?: number | undefined }): Promise<void>
}

export function createPipelines(transport: Transport): PipelinesApi {
  const pathOf = (name: string) => `/v1/pipelines/${encodeURIComponent(name)}`
  const one = async (asking: Promise<PipelineView>) => camel(await asking)

  async function list(options: CallOptions = {}): Promise<Pipelines> {
    const items: Pipeline[] = []
    let token: string | null = null
    for (;;) {
      const query: Record<string, string> = token === null ? {} : { page_token: token }
      const page: PipelineList = await transport.json<PipelineList>({ path: '/v1/pipelines', query, ...callOf(options) })
      items.push(...page.items.map((wire) => camel(wire)))
      token = page.next_page_token
      if (token === null) return { forcedScope: page.forced_scope, items }
    }
  }

  return Object.assign(list, {
    get: (name: string, options: CallOptions = {}) => one(transport.json({ path: pathOf(name), ...callOf(options) })),
    create: (name: string, settings: PipelineSettings, options: CallOptions = {}) =>
      one(transport.json({ method: 'POST', path: '/v1/pipelines', json: { name, ...snake(settings) }, ...callOf(options) })),
    replace: (name: string, settings: PipelineSettings, { ifVersion, ...options }: CallOptions & { readonly ifVersion: number }) => {
      const request = { method: 'PUT', path: pathOf(name), headers: ifMatch(ifVersion) } as const
      return one(transport.json({ ...request, json: snake(settings), ...callOf(options) }))
    },
    remove: (name: string, { ifVersion, ...options }: CallOptions & { readonly ifVersion?: number | undefined } = {}) => {
      const headers = ifVersion === undefined ? {} : { headers: ifMatch(ifVersion) }
      return transport.send({ method: 'DELETE', path: pathOf(name), ...headers, ...callOf(options) })
    },
  })
}
