/**
 * What a Box server tells of sessions and of commands that ended. Times are ISO 8601 in UTC with microseconds and `Z`.
 */
import { z } from 'zod'
import { BoxManagedProcessInfo } from './box-process.ts'

export const BoxSessionInfo = z.object({
  session_id: z.string(),
  backend_name: z.string(),
  backend_session_id: z.string(),
  image: z.string(),
  network: z.enum(['off', 'on']),
  host_path: z.string().nullable().default(null),
  host_path_mode: z.enum(['none', 'ro', 'rw']).default('rw'),
  mount_path: z.string().default('/workspace'),
  persistent: z.boolean().default(false),
  cpus: z.number().default(1),
  memory_mb: z.int().default(512),
  pids_limit: z.int().default(128),
  read_only_rootfs: z.boolean().default(true),
  workspace_quota_mb: z.int().default(0),
  /** `running`: a command is under way; managed processes do not count. */
  status: z.enum(['idle', 'running', 'closing']).default('idle'),
  /** What was not done as asked, in words. */
  warnings: z.array(z.string()).optional(),
  created_at: z.string(),
  last_used_at: z.string(),
})
export type BoxSessionInfo = z.output<typeof BoxSessionInfo>

/** One session, with its processes when there are any; `managed_process` is the one named `default`. */
export const BoxSessionDetail = BoxSessionInfo.extend({
  managed_processes: z.record(z.string(), BoxManagedProcessInfo).optional(),
  managed_process: BoxManagedProcessInfo.optional(),
})
export type BoxSessionDetail = z.output<typeof BoxSessionDetail>

export const BoxExecutionResult = z.object({
  session_id: z.string(),
  backend_name: z.string(),
  status: z.enum(['completed', 'timed_out']),
  exit_code: z.int().nullable().default(null),
  stdout: z.string().default(''),
  stderr: z.string().default(''),
  /** Clients refuse fractions. */
  duration_ms: z.int(),
})
export type BoxExecutionResult = z.output<typeof BoxExecutionResult>

/** `2026-11-15T19:03:17.490000Z` */
export function boxTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace('Z', '000Z')
}

/** `2026-11-15T19:03:24.827000+00:00`, as skills have it. */
export function boxSkillTime(date: Date): string {
  return date.toISOString().replace('Z', '000+00:00')
}
