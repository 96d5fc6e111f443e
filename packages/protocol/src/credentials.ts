/**
 * Credentials of a session: secrets lent to one session, delivered to its executions, removed when it ends.
 *
 * A value travels in one direction only. No answer contains it.
 */
import { z } from 'zod'
import { queryFlag } from './paging.ts'

/** How a program finds the value: in the environment variable itself, or in a file whose path the variable holds. */
export const CREDENTIAL_FORMS = ['env', 'file'] as const
export type CredentialForm = (typeof CREDENTIAL_FORMS)[number]

export const MAXIMUM_CREDENTIALS = 64
export const MAXIMUM_CREDENTIAL_BYTES = 65_536
/** Of all values that are environment variables: Linux bounds what a program is started with. */
export const MAXIMUM_CREDENTIAL_ENV_BYTES = 524_288

export const CredentialName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, {
  error: 'must be the name of an environment variable: 1 to 128 letters, digits and "_", not beginning with a digit',
})

const onSuspend = z.enum(['remove', 'keep'], { error: 'must be "remove" or "keep"' })

export const PutCredentialBody = z
  .strictObject({
    value: z
      .string({ error: 'must be a text' })
      .min(1, { error: 'must not be empty' })
      .refine((value) => new TextEncoder().encode(value).length <= MAXIMUM_CREDENTIAL_BYTES, {
        error: `must have at most ${MAXIMUM_CREDENTIAL_BYTES} bytes`,
      }),
    as: z.enum(CREDENTIAL_FORMS, { error: 'must be "env" or "file"' }).default('env'),
    on_suspend: onSuspend.default('remove').meta({ description: 'Whether it outlives a suspension of the session.' }),
  })
  .refine(({ value, as }) => as === 'file' || !value.includes('\0'), {
    path: ['value'],
    error: 'must not contain a NUL byte when it is an environment variable; send as: "file"',
  })

const Moment = z.iso.datetime()

export const CredentialView = z.object({
  name: z.string(),
  as: z.enum(CREDENTIAL_FORMS),
  /** Of the file inside the sandbox; `null` for an environment variable. */
  path: z.string().nullable(),
  /** Length of the value. */
  bytes: z.int(),
  on_suspend: onSuspend,
  /** It is given to no further execution; those that have it are being ended. */
  removing: z.boolean(),
  created_at: Moment,
  replaced_at: Moment.nullable(),
})
export type CredentialView = z.output<typeof CredentialView>

export const CredentialList = z.object({ items: z.array(CredentialView) })

export const RemoveCredentialQuery = z.strictObject({
  keep_running: queryFlag(false).meta({ description: 'Leave the executions that received it running, and answer their ids.' }),
})

export const RemovedCredentialView = z.object({
  name: z.string(),
  /** Executions that received it and were ended. */
  ended: z.array(z.string()),
  /** Executions that received it and run on, with `keep_running`. */
  kept_running: z.array(z.string()),
})
export type RemovedCredentialView = z.output<typeof RemovedCredentialView>
