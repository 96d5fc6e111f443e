/**
 * What a Box server tells of itself, and the limits that its client may set for it.
 */
import { z } from 'zod'
import { BoxError } from './box-error.ts'

export const BoxBackendInfo = z.object({
  name: z.string().nullable(),
  available: z.boolean(),
  /** Why it is not available. */
  reason: z.string().optional(),
})
export type BoxBackendInfo = z.output<typeof BoxBackendInfo>

const RANGES = {
  max_sessions: [64, 0, 5000],
  max_managed_processes: [64, 0, 1024],
  max_completed_processes: [256, 0, 10_000],
  max_admission_records: [100_000, 1, 250_000],
  max_rpc_file_bytes: [20_971_520, 1, 104_857_600],
  completed_process_retention_sec: [300, 0, 86_400],
} as const satisfies Record<string, readonly [fallback: number, least: number, most: number]>

export type BoxLimits = Readonly<Record<keyof typeof RANGES, number>>

export const DEFAULT_BOX_LIMITS: BoxLimits = readBoxLimits({})

/** The section `limits` of `box_init`; what it does not say has its default. Throws `ValueError`. */
export function readBoxLimits(section: unknown): BoxLimits {
  if (typeof section !== 'object' || section === null || Array.isArray(section))
    throw new BoxError('ValueError', 'limits must be an object of whole numbers')
  const given: Readonly<Record<string, unknown>> = { ...section }
  const read = (name: keyof BoxLimits): number => {
    const [fallback, least, most] = RANGES[name]
    const value = Object.hasOwn(given, name) ? given[name] : fallback
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most) return value
    throw new BoxError('ValueError', `limits.${name} must be a whole number between ${least} and ${most}`)
  }
  return {
    max_sessions: read('max_sessions'),
    max_managed_processes: read('max_managed_processes'),
    max_completed_processes: read('max_completed_processes'),
    max_admission_records: read('max_admission_records'),
    max_rpc_file_bytes: read('max_rpc_file_bytes'),
    completed_process_retention_sec: read('completed_process_retention_sec'),
  }
}

export const BoxStatus = z.object({
  backend: BoxBackendInfo,
  active_sessions: z.int(),
  managed_processes: z.int(),
  session_ttl_sec: z.int(),
  /** Sessions: of the caller's placement, and how many more it may have. Servers before 0.6 do not send it. */
  capacity: z.object({ limit: z.int(), used: z.int(), remaining: z.int() }).optional(),
  limits: z.object({
    max_sessions: z.int(),
    max_managed_processes: z.int(),
    max_completed_processes: z.int(),
    max_admission_records: z.int(),
    max_rpc_file_bytes: z.int(),
  }),
})
export type BoxStatus = z.output<typeof BoxStatus>

/** One row of `box_get_storage_analysis`; only rows of the kind `root` count in the total. */
export const BoxStorageDirectory = z.object({
  key: z.string(),
  path: z.string(),
  kind: z.enum(['root', 'detail']),
  exists: z.boolean(),
  size_bytes: z.int(),
  file_count: z.int(),
  error_count: z.int(),
  parent_key: z.string().optional(),
  scope: z.enum(['runtime_host', 'sandbox_sessions']),
})
export type BoxStorageDirectory = z.output<typeof BoxStorageDirectory>

export const BoxStorageAnalysis = z.object({
  size_bytes: z.int(),
  directories: z.array(BoxStorageDirectory),
  active_sessions: z.int(),
  managed_processes: z.int(),
})
export type BoxStorageAnalysis = z.output<typeof BoxStorageAnalysis>

export const SharedWorkspaceProof = z.object({ marker_name: z.string(), sha256: z.string(), size: z.int() })
export type SharedWorkspaceProof = z.output<typeof SharedWorkspaceProof>

/** A file that the client put into the shared workspace, to see whether the server finds it there. */
export const MARKER_NAME = /^\.langbot-box-volume-probe-[0-9a-f]{32}$/
