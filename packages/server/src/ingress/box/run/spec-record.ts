/**
 * What a client asked of a session when it was made, kept with the session: told back as it was, and compared with what is asked later.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { BoxError, BoxMountMode, BoxNetwork } from '@holdfast/protocol/box'
import type { BoxSpec } from '@holdfast/protocol/box'
import { z } from 'zod'
import type { SessionRow } from '../../../store/tables/sessions.ts'

/** Where it is kept, in the session's metadata. */
export const SPEC_METADATA = 'box.spec'

/** What was not done as the client asked, in words. */
export const WARNING_METADATA = 'box.warning'

/** In the order in which they are compared. */
const SpecRecord = z.object({
  network: BoxNetwork,
  image: z.string(),
  host_path: z.string().nullable(),
  host_path_mode: BoxMountMode,
  mount_path: z.string(),
  persistent: z.boolean(),
  cpus: z.number(),
  memory_mb: z.number(),
  pids_limit: z.number(),
  read_only_rootfs: z.boolean(),
  workspace_quota_mb: z.number(),
})
export type SpecRecord = z.output<typeof SpecRecord>

export function recordOf(spec: BoxSpec): SpecRecord {
  const { network, image, host_path, host_path_mode, mount_path, persistent, cpus, memory_mb, pids_limit, read_only_rootfs } = spec
  return {
    ...{ network, image, host_path, host_path_mode, mount_path, persistent, cpus, memory_mb, pids_limit, read_only_rootfs },
    workspace_quota_mb: spec.workspace_quota_mb,
  }
}

/** `null` for a session that was not made through this door. */
export function recordedOf({ metadata }: Pick<SessionRow, 'metadata'>): SpecRecord | null {
  const text = metadata[SPEC_METADATA]
  if (text === undefined) return null
  try {
    return SpecRecord.safeParse(JSON.parse(text)).data ?? null
  } catch (error) {
    // Decision: whoever may change metadata may spoil it, and then it is none.
    if (error instanceof SyntaxError) return null
    throw error
  }
}

/** Throws `BoxSessionConflictError`, which names the first field that differs and what it is. */
export function checkSame(known: SpecRecord | null, asked: SpecRecord): void {
  if (known === null) throw new BoxError('BoxSessionConflictError', 'the session exists, and was not made by a Box client')
  for (const [field, value] of Object.entries(asked)) {
    const has: unknown = Object.entries(known).find(([name]) => name === field)?.[1]
    if (has !== value)
      throw new BoxError(
        'BoxSessionConflictError',
        `the session exists with ${field} = ${JSON.stringify(has)}, not ${JSON.stringify(value)}`,
        {
          field,
        },
      )
  }
}
