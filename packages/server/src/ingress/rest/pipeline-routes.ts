/**
 * `/v1/pipelines`: how each kind of conversation that the operator configured gets its session.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { PipelineList } from '@holdfast/protocol'
import type { Pipelines } from '../../policy/pipelines.ts'
import { json, route } from './route.ts'
import type { Route } from './route.ts'

export interface PipelineRoutesNeeds {
  readonly pipelines: Pick<Pipelines, 'all'>
  readonly scopeRules: { readonly forced: string | null }
}

export function pipelineRoutes({ pipelines, scopeRules }: PipelineRoutesNeeds): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/pipelines',
      summary: 'List the configured pipelines with their scopes, profiles and skills',
      authorization: 'any-principal',
      answers: {
        200: json('PipelineList', PipelineList, 'In the order of the configuration; /v1/scopes has the labels of scopes for people'),
      },
      errors: [],
      async handle() {
        const items = pipelines.all().map(({ name, scope, profile = null, skills }) => ({ name, scope, profile, skills: [...skills] }))
        return { status: 200, body: { forced_scope: scopeRules.forced, items } }
      },
    }),
  ]
}
