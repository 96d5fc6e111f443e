/**
 * A command on the wire: what is run, where, with what; the same for a command that is attended and for one that is left to run.
 */
import { z } from 'zod'

export const MAXIMUM_TIMEOUT_MS = 3_600_000

const withoutNul = (value: string) => !value.includes('\0')
const NUL_MESSAGE = 'must not contain a NUL character'

export const TimeoutMs = z
  .int({ error: 'must be a whole number of milliseconds' })
  .min(1, { error: 'must be at least 1' })
  .max(MAXIMUM_TIMEOUT_MS, { error: `must be at most ${MAXIMUM_TIMEOUT_MS} (one hour)` })

export const CommandShape = {
  /** Refused with `incarnation_changed` when the sandbox is another one by now. */
  expected_incarnation: z.int({ error: 'must be a whole number' }).min(1, { error: 'must be at least 1' }).optional(),
  /** Run as `/bin/sh -c`. */
  command: z.string().min(1, { error: 'must not be empty' }).refine(withoutNul, NUL_MESSAGE).optional(),
  /** Run as it is, without a shell. */
  argv: z.array(z.string().refine(withoutNul, NUL_MESSAGE)).min(1, { error: 'must name at least the program' }).optional(),
  cwd: z
    .string()
    .startsWith('/', { error: 'must be an absolute path inside the sandbox' })
    .max(4096)
    .refine(withoutNul, NUL_MESSAGE)
    .optional(),
  env: z
    .record(z.string().regex(/^[^=\0]+$/, { error: 'a name must not be empty or contain "="' }), z.string().refine(withoutNul, NUL_MESSAGE))
    .optional(),
  stdin: z.string().optional(),
}

export const ONE_COMMAND = { error: 'give exactly one of command (run by /bin/sh) and argv (run as it is)', path: ['command'] }

/** Whether a body names what to run in one of the two ways. */
export function namesOneCommand({ command, argv }: { readonly command?: string | undefined; readonly argv?: unknown }): boolean {
  return (command === undefined) !== (argv === undefined)
}
