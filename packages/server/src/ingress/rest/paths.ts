/**
 * The parameters in paths.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { CredentialName, ProcessName } from '@holdfast/protocol'
import { z } from 'zod'

/** Of whatever the server has made. Whether there is such a thing is another question. */
const Id = z.string().regex(/^\w{1,64}$/, { error: 'must be an id: 1 to 64 letters, digits and "_"' })

export const OneId = z.strictObject({ id: Id })
/** A tenant has a name too, which may stand for its id. */
export const OneTenant = z.strictObject({
  id: z.string().regex(/^[\w-]{1,64}$/, { error: 'must be the id or the name of a tenant: 1 to 64 letters, digits, "_" and "-"' }),
})
export const ExecutionIds = z.strictObject({ id: Id, execution: Id })
export const ProcessNames = z.strictObject({ id: Id, name: ProcessName })
export const CredentialNames = z.strictObject({ id: Id, name: CredentialName })
