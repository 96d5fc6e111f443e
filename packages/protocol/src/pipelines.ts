/**
 * Pipelines on the wire: how each kind of conversation that an operator configured gets its session.
 */
import { z } from 'zod'

export const PipelineView = z.object({
  name: z.string(),
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
  items: z.array(PipelineView),
})
export type PipelineList = z.output<typeof PipelineList>
