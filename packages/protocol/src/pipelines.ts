/**
 * Pipelines on the wire: how each kind of conversation gets its session.
 */
import { z } from 'zod'
import { pageOf } from './paging.ts'
import { DefinitionFacts } from './profiles.ts'
import { ScopeText } from './scopes.ts'
import { ProfileName } from './tenants.ts'

export const MAXIMUM_PIPELINE_SKILLS = 256

const PipelineFields = {
  scope: ScopeText.optional().meta({ description: 'Left out: the server’s default scope.' }),
  profile: ProfileName.optional().meta({ description: 'Must exist. Left out: the setting profile.' }),
  skills: z
    .array(z.string().min(1, { error: 'must not be empty' }).max(64, { error: 'must be at most 64 characters' }))
    .max(MAXIMUM_PIPELINE_SKILLS, { error: `must be at most ${MAXIMUM_PIPELINE_SKILLS} skills` })
    .optional()
    .meta({ description: 'Names of the skills that its sessions show. Left out: none.' }),
} as const

export const PipelineSettings = z.strictObject(PipelineFields)
export type PipelineSettings = z.output<typeof PipelineSettings>
export type PipelineSettingsInput = z.input<typeof PipelineSettings>

export const CreatePipelineBody = z.strictObject({ name: ProfileName, ...PipelineFields })
export type CreatePipelineBody = z.output<typeof CreatePipelineBody>
export type CreatePipelineBodyInput = z.input<typeof CreatePipelineBody>

export const PipelineView = z.object({
  name: z.string(),
  ...DefinitionFacts,
  /** What makes the key: the name of a scope, or a template. The one that is forced on everybody, where there is one. */
  scope: z.string(),
  /** `null`: the server's own settings. */
  profile: z.string().nullable(),
  /** Names of the skills that its sessions show. */
  skills: z.array(z.string()),
})
export type PipelineView = z.output<typeof PipelineView>

export const PipelineList = z.object({
  /** The scope of every pipeline, whatever it says; `null` where none is forced. */
  forced_scope: z.string().nullable(),
  ...pageOf(PipelineView).shape,
})
export type PipelineList = z.output<typeof PipelineList>
