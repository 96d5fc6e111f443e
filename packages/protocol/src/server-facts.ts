/**
 * What a server offers, on the wire: its health, its backends, its scopes, and how much of everything somebody may have.
 */
import { z } from 'zod'
import { Owner } from './keys.ts'
import { LANGUAGES, LanguageTag, SCOPE_NAMES } from './scopes.ts'

export const HealthView = z.object({
  status: z.literal('ok'),
  version: z.string().meta({ description: 'Of Holdfast.' }),
  backend: z.string().meta({ description: 'What makes the sandboxes.' }),
  backend_version: z.string().meta({ description: 'Of the program that makes them.' }),
})
export type HealthView = z.output<typeof HealthView>
export const ReadyView = z.object({
  status: z.literal('ready'),
  /** `jumped`: the wall clock jumped by more than an hour, and the jump waits for a confirmation. */
  clock: z.enum(['steady', 'jumped']),
})

export const ClockView = z.object({
  /** What the server's deadlines are compared with. */
  time: z.iso.datetime(),
  wall_time: z.iso.datetime(),
  /** A jump of the wall clock that the server does not follow yet. */
  jump: z.object({ by_seconds: z.int(), followed_at: z.iso.datetime() }).nullable(),
})
export type ClockView = z.output<typeof ClockView>

const CapabilitiesView = z.object({
  limits: z.object({ cpus: z.boolean(), memory: z.boolean(), pids: z.boolean() }),
  network_on: z.boolean(),
  images: z.boolean(),
  writable_root: z.boolean(),
  root_user: z.boolean(),
  several_users: z.boolean(),
  packing: z.boolean(),
  /** For each `false` above: the reason and what would change it. */
  reasons: z.record(z.string(), z.string()),
})

export const BackendView = z.object({
  kind: z.string(),
  /** New sandboxes are made on this one. */
  chosen: z.boolean(),
  available: z.boolean(),
  version: z.string().nullable(),
  capabilities: CapabilitiesView.nullable(),
  /** Why it is not available, and what would change that. */
  reason: z.string().nullable(),
  fix: z.string().nullable(),
})
export type BackendView = z.output<typeof BackendView>
export const BackendList = z.object({ items: z.array(BackendView) })

export const ScopesQuery = z.strictObject({
  lang: LanguageTag.optional(),
})
export const ScopeList = z.object({
  /** Of the labels and descriptions. */
  language: z.enum(LANGUAGES),
  /** The scope of requests that name none. */
  default: z.string(),
  /** Taken instead of whatever a request asks for; `null` where none is forced. */
  forced: z.string().nullable(),
  items: z.array(
    z.object({
      name: z.enum(SCOPE_NAMES),
      template: z.string(),
      label: z.string(),
      description: z.string(),
      idle_seconds: z.int(),
    }),
  ),
})
export type ScopeList = z.output<typeof ScopeList>

export const QuotasQuery = z.strictObject({
  owner: Owner.optional().meta({ description: 'Another than the caller’s, for those who see the tenant.' }),
})
export const QuotaList = z.object({
  owner: z.string(),
  items: z.array(
    z.object({
      quota: z.enum([
        ...(['open_sessions', 'open_sessions_per_owner', 'compute_sessions', 'compute_sessions_per_owner'] as const),
        ...(['profiles', 'pipelines'] as const),
        ...(['kept_output_bytes', 'kept_events', 'kept_answer_bytes'] as const),
      ]),
      limit: z.int().nullable(),
      /** `null` where it would tell how much others use. */
      used: z.int().nullable(),
    }),
  ),
})
export type QuotaList = z.output<typeof QuotaList>
