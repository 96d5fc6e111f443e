/**
 * Resource limits on the wire: what a caller may wish for one sandbox.
 *
 * The bounds stand here, once, so that the API, the configuration file and the command line refuse the same values with
 * the same sentence. `null` lifts a limit; a field left out takes the server's default.
 */
import { z } from 'zod'

const MEBIBYTE = 1024 * 1024

/** Below this a guest and one shell do not fit, and the kernel kills them at once. */
export const MINIMUM_MEMORY_BYTES = 16 * MEBIBYTE
/** The guest, a shell and a pipeline need about this many. */
export const MINIMUM_PIDS = 8
export const MINIMUM_TMP_BYTES = MEBIBYTE
export const MINIMUM_OPEN_FILES = 16
export const MINIMUM_WORKSPACE_BYTES = MEBIBYTE

export const Cpus = z
  .number({ error: 'must be a number of processors such as 0.5 or 2' })
  .min(0.01, { error: 'must be at least 0.01' })
  .max(1024, { error: 'must be at most 1024' })

export const MemoryBytes = z
  .int({ error: 'must be a whole number of bytes' })
  .min(MINIMUM_MEMORY_BYTES, { error: `must be at least ${MINIMUM_MEMORY_BYTES} bytes (16 MiB): less does not hold a shell` })
  .max(2 ** 44, { error: 'must be at most 16 TiB' })

export const Pids = z
  .int({ error: 'must be a whole number of processes' })
  .min(MINIMUM_PIDS, { error: `must be at least ${MINIMUM_PIDS}: less does not hold a shell and a pipeline` })
  .max(4_194_304, { error: 'must be at most 4194304' })

export const TmpBytes = z
  .int({ error: 'must be a whole number of bytes' })
  .min(MINIMUM_TMP_BYTES, { error: `must be at least ${MINIMUM_TMP_BYTES} bytes (1 MiB)` })
  .max(2 ** 40, { error: 'must be at most 1 TiB' })

export const OpenFiles = z
  .int({ error: 'must be a whole number of files' })
  .min(MINIMUM_OPEN_FILES, { error: `must be at least ${MINIMUM_OPEN_FILES}` })
  .max(1_048_576, { error: 'must be at most 1048576' })

export const WorkspaceBytes = z
  .int({ error: 'must be a whole number of bytes' })
  .min(MINIMUM_WORKSPACE_BYTES, { error: `must be at least ${MINIMUM_WORKSPACE_BYTES} bytes (1 MiB)` })
  .max(2 ** 50, { error: 'must be at most 1 PiB' })

export const LimitsWish = z.strictObject({
  cpus: Cpus.nullable().optional(),
  memory_bytes: MemoryBytes.nullable().optional(),
  pids: Pids.nullable().optional(),
  tmp_bytes: TmpBytes.optional(),
  open_files: OpenFiles.optional(),
  /** Of all files in the session's workspace together. */
  workspace_bytes: WorkspaceBytes.nullable().optional(),
})
export type LimitsWish = z.output<typeof LimitsWish>
