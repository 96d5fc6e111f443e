/**
 * `/v1/pipelines`: how each kind of conversation gets its session, and those that the tenant stores.
 */
import { CreatePipelineBody, PagingShape, PipelineList, PipelineSettings, PipelineView } from '@holdfast/protocol'
import type { ErrorCode } from '@holdfast/protocol'
import { z } from 'zod'
import type { ListedPipeline, TenantPipelines } from '../../policy/tenant-pipelines.ts'
import { auditedBy } from './audited-by.ts'
import { definitionFacts, definitionsAfter } from './definition-pages.ts'
import type { Pages } from './page-tokens.ts'
import { OneName } from './profile-routes.ts'
import { empty, json, route } from './route.ts'
import type { Entered, Route } from './route.ts'
import { etag, requiredVersion } from './versions.ts'

export interface PipelineRoutesNeeds {
  readonly pipelines: TenantPipelines
  readonly scopeRules: { readonly forced: string | null }
  readonly pages: Pages
}

const WRITE_ERRORS: readonly ErrorCode[] = ['forbidden', 'read_only', 'profile_unknown']

export function pipelineRoutes({ pipelines, scopeRules, pages }: PipelineRoutesNeeds): readonly Route[] {
  const named = ({ principal }: Entered, name: string) => ({ tenantId: principal.tenantId, name })
  const shown = (listed: ListedPipeline) => ({
    ...{ body: pipelineView(listed), headers: listed.stored === null ? {} : etag(listed.stored) },
  })

  return [
    route({
      method: 'GET',
      path: '/v1/pipelines',
      summary: 'List the pipelines with their scopes, profiles and skills',
      authorization: 'any-principal',
      query: z.strictObject(PagingShape),
      answers: {
        200: json(
          'PipelineList',
          PipelineList,
          'Those of the configuration first, then those of the tenant by name; /v1/scopes has labels',
        ),
      },
      errors: ['invalid_page_token'],
      async handle(call) {
        const page = await pages.page(
          call,
          'pipelines',
          (after, limit) => definitionsAfter(pipelines, call.principal.tenantId, after, limit),
          ({ place }) => place,
          ({ item }) => pipelineView(item),
        )
        return { status: 200, body: { forced_scope: scopeRules.forced, ...page } }
      },
    }),
    route({
      method: 'POST',
      path: '/v1/pipelines',
      summary: 'Store a pipeline of the tenant',
      authorization: 'manage-profiles',
      body: CreatePipelineBody,
      answers: { 201: json('Pipeline', PipelineView, 'A new pipeline') },
      errors: [...WRITE_ERRORS, 'name_taken', 'quota_exceeded'],
      async handle(call) {
        const { name, ...settings } = call.body
        const { body, headers } = shown(await pipelines.create(named(call, name), settings, auditedBy(call)))
        return { status: 201, body, headers: { ...headers, location: `/v1/pipelines/${name}` } }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/pipelines/{name}',
      summary: 'Read a pipeline',
      authorization: 'any-principal',
      params: OneName,
      answers: { 200: json('Pipeline', PipelineView, 'The pipeline; with an ETag if it is stored') },
      errors: ['not_found'],
      handle: async (call) => ({ status: 200, ...shown(await pipelines.get(named(call, call.params.name))) }),
    }),
    route({
      method: 'PUT',
      path: '/v1/pipelines/{name}',
      summary: 'Replace a stored pipeline; sessions that exist keep what they were made with',
      authorization: 'manage-profiles',
      params: OneName,
      body: PipelineSettings,
      ifMatch: 'required',
      answers: { 200: json('Pipeline', PipelineView, 'The changed pipeline') },
      errors: [...WRITE_ERRORS, 'not_found', 'version_conflict'],
      async handle(call) {
        const version = requiredVersion(call.ifMatch)
        return { status: 200, ...shown(await pipelines.replace(named(call, call.params.name), call.body, version, auditedBy(call))) }
      },
    }),
    route({
      method: 'DELETE',
      path: '/v1/pipelines/{name}',
      summary: 'Remove a stored pipeline; sessions that were made for it live on',
      authorization: 'manage-profiles',
      params: OneName,
      ifMatch: 'optional',
      answers: { 204: empty('It is gone') },
      errors: ['forbidden', 'read_only', 'not_found', 'version_conflict'],
      async handle(call) {
        await pipelines.remove(named(call, call.params.name), call.ifMatch, auditedBy(call))
        return { status: 204, body: null }
      },
    }),
  ]
}

function pipelineView({ name, pipeline, stored }: ListedPipeline): PipelineView {
  const { scope, profile, skills } = pipeline
  const facts = definitionFacts(stored === null ? 'configuration' : 'tenant', stored)
  return { name, ...facts, scope, profile: profile ?? null, skills: [...skills] }
}
