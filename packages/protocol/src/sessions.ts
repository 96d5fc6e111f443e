/**
 * Sessions on the wire: what is asked for, what is told, and what may be done to one.
 */
import { z } from 'zod'
import { Group, Owner, Subject } from './keys.ts'
import { PagingShape } from './paging.ts'
import { HOME_KINDS, MOUNT_MODES, ROOT_KINDS, SANDBOX_USERS, SandboxWish, WORKSPACE_MODES } from './sandbox-wish.ts'
import { ScopeRequest, SessionKey } from './scopes.ts'
import { CLOSE_REASONS, PENDING_REASONS, SESSION_STATES, SUSPEND_REASONS, WORKSPACE_VERDICTS } from './session-words.ts'
import { ProfileName, Seconds } from './tenants.ts'

export const MAXIMUM_LABELS = 32
export const MAXIMUM_METADATA = 64
export const MAXIMUM_METADATA_BYTES = 16 * 1024
export const MAXIMUM_WAIT_MS = 60_000
export const MAXIMUM_GRACE_MS = 60_000
export const MAXIMUM_DRAIN_SECONDS = 3600

const isPlainText = (text: string) => text.isWellFormed() && !/\p{Cc}/u.test(text)
const LABEL_NAME = 'a name must be 1 to 63 letters, digits, ".", "_", "/" and "-", and begin with a letter or digit'
const LABEL_VALUE = 'must be text of at most 63 characters without control characters'
const METADATA_VALUE = 'must be text without NUL and broken Unicode'

export const MAXIMUM_LABEL_FILTERS = 8
const LABEL_FILTER = 'must be a label such as team=a'

const LabelName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$/, { error: LABEL_NAME })
const Labels = z
  .record(LabelName, z.string({ error: LABEL_VALUE }).max(63, { error: LABEL_VALUE }).refine(isPlainText, { error: LABEL_VALUE }), {
    error: (issue) => (issue.code === 'invalid_key' ? LABEL_NAME : 'must be an object'),
  })
  .refine((labels) => Object.keys(labels).length <= MAXIMUM_LABELS, { error: `must be at most ${MAXIMUM_LABELS} labels` })
const Metadata = z
  .record(
    LabelName,
    z.string({ error: METADATA_VALUE }).refine((text) => text.isWellFormed() && !text.includes('\0'), { error: METADATA_VALUE }),
    { error: (issue) => (issue.code === 'invalid_key' ? LABEL_NAME : 'must be an object') },
  )
  .refine((metadata) => Object.keys(metadata).length <= MAXIMUM_METADATA, { error: `must be at most ${MAXIMUM_METADATA} entries` })
  .refine((metadata) => new TextEncoder().encode(JSON.stringify(metadata)).length <= MAXIMUM_METADATA_BYTES, {
    error: `must be at most ${MAXIMUM_METADATA_BYTES} bytes altogether`,
  })

/** How long a session lives; what is left out is the scope's or the server's, and a tenant's ceilings hold anyway. */
export const SessionTimesWish = z.strictObject({
  /** What happens to one that had no work for `idle_seconds`: its sandbox is given up and its workspace kept, or it ends. */
  on_idle: z.enum(['suspend', 'release'], { error: 'must be "suspend" or "release"' }).optional(),
  idle_seconds: Seconds.optional(),
  /** Ends unless it is refreshed; `null` for no lease. */
  lease_seconds: Seconds.nullable().optional(),
  lifetime_seconds: Seconds.nullable().optional(),
  /** How long a suspended one is kept. */
  retention_seconds: Seconds.optional(),
})

const OnClose = z.enum(['delete', 'keep'], { error: 'must be "delete" or "keep"' })

export const CreateSessionBody = z
  .strictObject({
    /** The caller's name for the conversation. */
    key: SessionKey.optional(),
    /** Or what the key is made from. */
    ...ScopeRequest.shape,
    /** Another than the caller's needs the right to create for others. */
    owner: Subject.optional(),
    owner_group: Group.nullable().optional(),
    ...SandboxWish.shape,
    labels: Labels.optional(),
    metadata: Metadata.optional(),
    times: SessionTimesWish.optional(),
    /** A packing profile: the sandbox may be shared with sessions of the same kind and owner. */
    pack: ProfileName.optional(),
    /** What becomes of the workspace when the session ends. */
    workspace_on_close: OnClose.optional(),
    /** For how long the answer may wait until the session is ready. */
    wait_ms: z
      .int({ error: 'must be a whole number of milliseconds' })
      .min(0, { error: 'must be at least 0' })
      .max(MAXIMUM_WAIT_MS, { error: `must be at most ${MAXIMUM_WAIT_MS}` })
      .default(0),
  })
  .refine(
    ({ key, scope, variables, pipeline }) =>
      (key === undefined) !== ((scope ?? variables ?? (key === undefined ? pipeline : undefined)) === undefined),
    { error: 'give exactly one of key, and scope or pipeline with its variables', path: ['key'] },
  )
export type CreateSessionBody = z.output<typeof CreateSessionBody>
export type CreateSessionBodyInput = z.input<typeof CreateSessionBody>

/** `team=a` → the label `team` with the value `a`, which may hold further `=`. */
const LabelFilter = z
  .string({ error: LABEL_FILTER })
  .max(127, { error: LABEL_FILTER })
  .regex(/^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}=\P{Cc}{0,63}$/u, { error: LABEL_FILTER })
  .transform((text) => ({ name: text.slice(0, text.indexOf('=')), value: text.slice(text.indexOf('=') + 1) }))

const STATE_PROBLEM = `must be one or more of ${SESSION_STATES.join(', ')}, with commas`

export const ListSessionsQuery = z.strictObject({
  state: z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(z.enum(SESSION_STATES, { error: STATE_PROBLEM })).max(SESSION_STATES.length, { error: STATE_PROBLEM }))
    .optional()
    .meta({ description: 'One or more states, with commas.' }),
  owner: Owner.optional(),
  key: SessionKey.optional(),
  sandbox: z
    .string()
    .max(64, { error: 'must be at most 64 characters' })
    .regex(/^\w*$/, { error: 'must be the id of a sandbox' })
    .optional(),
  label: z
    .array(LabelFilter)
    .max(MAXIMUM_LABEL_FILTERS, { error: `must be given at most ${MAXIMUM_LABEL_FILTERS} times` })
    .optional()
    .meta({ description: 'A label as name=value; given several times, all of them.' }),
  ...PagingShape,
})

export const UpdateSessionBody = z
  .strictObject({ labels: Labels.optional(), metadata: Metadata.optional() })
  .refine(({ labels, metadata }) => labels !== undefined || metadata !== undefined, { error: 'give labels, metadata or both' })

export const RefreshSessionBody = z.strictObject({
  /** A new length of the lease; without it the present one counts from now. */
  lease_seconds: Seconds.optional(),
  /** A refresh moves the end of a lease to a later time only, unless this is `true`. */
  allow_shorten: z.boolean({ error: 'must be true or false' }).default(false),
})

export const ReleaseSessionBody = z.strictObject({
  /** What to do about running work: wait for it, refuse, or kill it. */
  if_busy: z.enum(['wait', 'fail', 'kill'], { error: 'must be "wait", "fail" or "kill"' }).default('wait'),
  /** For how long to wait. */
  drain_seconds: z
    .int({ error: 'must be a whole number of seconds' })
    .min(0, { error: 'must be at least 0' })
    .max(MAXIMUM_DRAIN_SECONDS, { error: `must be at most ${MAXIMUM_DRAIN_SECONDS}` })
    .optional(),
  workspace: OnClose.optional(),
})

export const ResetHomeBody = z.strictObject({
  /** What to do about running work: refuse, or kill it. */
  if_busy: z.enum(['fail', 'kill'], { error: 'must be "fail" or "kill"' }).default('fail'),
})

const KeepRunning = z
  .boolean({ error: 'must be true or false' })
  .default(false)
  .meta({ description: 'Do not end executions that received a credential of the session: the answer names them.' })

export const SuspendSessionBody = z.strictObject({
  keep_credentials: z
    .boolean({ error: 'must be true or false' })
    .default(false)
    .meta({ description: 'Credentials of the session stay for its next sandbox.' }),
  keep_running: KeepRunning,
})

export const TransferSessionBody = z.strictObject({
  owner: Subject,
  owner_group: Group.nullable().default(null),
  keep_running: KeepRunning,
})

/** What the owner accepts, as the request names it. */
export const AcceptTransferBody = z.strictObject(TransferSessionBody.shape)

export const HoldSessionBody = z.strictObject({
  reason: z
    .string()
    .max(255, { error: 'must be at most 255 characters' })
    .refine(isPlainText, { error: 'must be one line of text' })
    .optional(),
})

/** Between asking a program to end and killing it. */
export const GraceMs = z
  .int({ error: 'must be a whole number of milliseconds' })
  .min(0, { error: 'must be at least 0' })
  .max(MAXIMUM_GRACE_MS, { error: `must be at most ${MAXIMUM_GRACE_MS}` })

export const CancelWorkBody = z.strictObject({
  /** Whether named processes end too. */
  processes: z.boolean({ error: 'must be true or false' }).default(false),
  grace_ms: GraceMs.optional(),
})

/** What was ended. */
export const KilledView = z.object({
  executions: z.int().meta({ description: 'Executions that ran and were ended.' }),
  killed: z.int().meta({ description: 'Processes that ended by SIGTERM or SIGKILL, those in the background included.' }),
  verified: z.boolean().meta({ description: 'Nothing of it runs any more.' }),
})

const Moment = z.iso.datetime()

export const SessionRecord = z.object({
  id: z.string(),
  key: z.string(),
  /** The rule that made the key; `null` for a key that the caller named. */
  scope: z.string().nullable(),
  owner: z.string(),
  owner_group: z.string().nullable(),
  state: z.enum(SESSION_STATES),
  pending_reason: z.enum(PENDING_REASONS).nullable(),
  suspend_reason: z.enum(SUSPEND_REASONS).nullable(),
  close_reason: z.enum(CLOSE_REASONS).nullable(),
  /** What led to its end: a deadline's name, `caller`, `tenant_terminated`, or an error code. */
  close_detail: z.string().nullable(),
  failure: z.object({ code: z.string(), message: z.string() }).nullable(),
  /** Grows by one whenever the sandbox behind the session is another one. */
  incarnation: z.int(),
  workspace: z.enum(WORKSPACE_VERDICTS),
  /** After a change: what survived and what did not, for the model. */
  notice: z.string().nullable(),
  labels: z.record(z.string(), z.string()),
  metadata: z.record(z.string(), z.string()),
  /** The named set of values that it was made with. */
  profile: z.string().nullable(),
  profile_version: z.int().nullable().meta({ description: 'Of a stored profile, when the session was made; later changes do not apply.' }),
  /** The pipeline that it was made for. */
  pipeline: z.string().nullable(),
  skills: z.array(z.string()).nullable().meta({ description: 'Of its pipeline, when the session was made. null: all of the tenant.' }),
  timeout_ms: z.int().nullable().meta({ description: 'Of a command that names none, from its profile.' }),
  max_timeout_ms: z.int().nullable().meta({ description: 'The longest that a command may have, from its profile.' }),
  image: z.string().nullable(),
  network: z.enum(['off', 'on']).nullable(),
  rootfs: z.enum(ROOT_KINDS),
  /** What `/home/user` is. */
  home: z.enum(HOME_KINDS),
  /** Who its commands are. */
  user: z.enum(SANDBOX_USERS),
  /** What of the host its workspace is; `source` is `null` for the session's own directory. */
  workspace_mount: z.object({ source: z.string().nullable(), mode: z.enum(WORKSPACE_MODES), target: z.string() }),
  mounts: z.array(z.object({ source: z.string(), target: z.string(), mode: z.enum(MOUNT_MODES) })),
  limits: z.object({
    cpus: z.number().nullable(),
    memory_bytes: z.int().nullable(),
    pids: z.int().nullable(),
    tmp_bytes: z.int().nullable(),
    open_files: z.int().nullable(),
    workspace_bytes: z.int().nullable(),
  }),
  pack: z.string().nullable(),
  sandbox_id: z.string().nullable(),
  /** Executions and named processes that run now. */
  running: z.int(),
  /** No work and no resume until an operator lets it go. */
  held: z.object({ at: Moment, by: z.string().nullable(), reason: z.string().nullable() }).nullable(),
  /** An administrator asks to give it to somebody else; its owner accepts or rejects. */
  pending_transfer: z.object({ owner: z.string(), owner_group: z.string().nullable(), by: z.string(), at: Moment }).nullable(),
  on_idle: z.enum(['suspend', 'release']),
  workspace_on_close: OnClose,
  /** When it ends if nothing happens; `null` for never, or for one that has ended. */
  expires_at: Moment.nullable(),
  expires_reason: z.enum(['idle', 'lease', 'lifetime', 'retention']).nullable(),
  deadlines: z.object({ idle_at: Moment.nullable(), lease_at: Moment.nullable(), lifetime_at: Moment.nullable() }),
  created_at: Moment,
  created_by: z.string(),
  activity_at: Moment,
  suspended_at: Moment.nullable(),
  closed_at: Moment.nullable(),
  /** What was cleaned up when it closed; `verified` is false when something could not be proved gone. */
  cleanup: z
    .object({
      executions: z.int(),
      killed: z.int(),
      verified: z.boolean(),
      sandbox: z.enum(['none', 'destroyed', 'kept', 'quarantined']),
      workspace: z.enum(['deleted', 'kept']),
    })
    .nullable(),
  /** In the answer to a transfer with `keep_running`: executions that received a credential of the earlier owner and run on. */
  kept_running: z.array(z.string()).optional(),
  /** The number of its last event: where to go on when older ones are gone. */
  event_seq: z.int(),
  /** Also the ETag. */
  version: z.int(),
})
export type SessionRecord = z.output<typeof SessionRecord>
