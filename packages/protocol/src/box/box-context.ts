/**
 * For which workspace of which LangBot instance an action is: the context of a request, and the headers of a handshake.
 */
import { z } from 'zod'
import { laxInteger, trimmedText } from './lax.ts'

export const INSTANCE_HEADER = 'x-langbot-instance-id'
export const TOKEN_HEADER = 'x-langbot-box-control-token'
export const WORKSPACE_HEADER = 'x-langbot-workspace-id'
export const GENERATION_HEADER = 'x-langbot-placement-generation'

export const MAXIMUM_WORKSPACE_LENGTH = 256

/** The id of a LangBot instance. */
export const InstanceId = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/, {
  error: 'must be letters, digits and ". _ : -", at most 128, and begin with a letter or digit',
})

/** Shared by both ends: at least 32 characters, no white space. */
export const ControlToken = z.string().regex(/^\S{32,}$/, { error: 'must be at least 32 characters without white space' })

const Generation = laxInteger.pipe(z.int().min(1, { error: 'must be at least 1' })).default(1)

const Base = z.strictObject({ instance_uuid: trimmedText, workspace_uuid: trimmedText, placement_generation: Generation })
const Plain = Base.extend({ installation_uuid: trimmedText.nullish() })
/** A plugin's binding is taken when it is whole; what is more than a context is dropped. */
const Bound = Base.extend({
  installation_uuid: trimmedText,
  runtime_revision: laxInteger.pipe(z.int().min(1)),
  artifact_digest: z.string().regex(/^[0-9a-f]{64}$/),
})

export const BoxContext = z
  .union([Plain, Bound], { error: 'must be instance_uuid, workspace_uuid and placement_generation, and nothing else' })
  .transform(({ instance_uuid, workspace_uuid, placement_generation }) => ({ instance_uuid, workspace_uuid, placement_generation }))
export type BoxContext = z.output<typeof BoxContext>
