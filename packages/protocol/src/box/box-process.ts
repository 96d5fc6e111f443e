/**
 * Managed processes: programs that run on in a session, with their input and output offered by the relay.
 */
import { z } from 'zod'
import { absoluteInside, laxInteger, plainText, textMap, trimmedText } from './lax.ts'

export const DEFAULT_PROCESS_ID = 'default'

export const BoxManagedProcessSpec = z.object({
  process_id: plainText.default(DEFAULT_PROCESS_ID),
  command: trimmedText,
  args: z.array(plainText, { error: 'must be a list of texts' }).default([]),
  env: textMap.default({}),
  cwd: absoluteInside.default('/workspace'),
  /** 0: what the session has. */
  memory_mb: laxInteger.default(0),
})
export type BoxManagedProcessSpec = z.output<typeof BoxManagedProcessSpec>

export const BoxManagedProcessInfo = z.object({
  session_id: z.string(),
  process_id: z.string().default(DEFAULT_PROCESS_ID),
  status: z.enum(['running', 'exited']),
  command: z.string(),
  args: z.array(z.string()),
  cwd: z.string(),
  /** Sorted; values are never told. */
  env_keys: z.array(z.string()),
  attached: z.boolean().default(false),
  started_at: z.string(),
  exited_at: z.string().nullable().default(null),
  exit_code: z.int().nullable().default(null),
  stderr_preview: z.string().default(''),
})
export type BoxManagedProcessInfo = z.output<typeof BoxManagedProcessInfo>
