/**
 * What a Box client asks for with every command and session: one flat object, of which the session's part must stay the same.
 */
import { posix } from 'node:path'
import { z } from 'zod'
import { ARTIFACTS_PATH, ContentDigest } from './box-artifact.ts'
import { absoluteInside, laxBoolean, laxInteger, laxNumber, plainText, textMap, trimmedText } from './lax.ts'

export const DEFAULT_BOX_IMAGE = 'rockchin/langbot-sandbox:latest'
const DEFAULT_MOUNT = '/workspace'
const MAXIMUM_SKILL_NAME = 64

export const BoxNetwork = z.enum(['off', 'on'], { error: 'must be off or on' })
export const BoxMountMode = z.enum(['none', 'ro', 'rw'], { error: 'must be none, ro or rw' })
export type BoxMountMode = z.output<typeof BoxMountMode>

/** Absolute by the rules of POSIX or of Windows. */
const HostPath = plainText.trim().regex(/^(\/|[A-Za-z]:[\\/]|\\\\[^\\/]+[\\/]+[^\\/]+)/, { error: 'must be an absolute path' })

export const BoxMountSpec = z
  .object({
    host_path: HostPath,
    mount_path: absoluteInside.refine((path) => posix.normalize(path) === path, { error: 'must be a normalised path' }),
    mode: BoxMountMode.default('rw'),
    /** Clients before 0.7.13 send neither. */
    content_digest: ContentDigest.nullish(),
    manifest_path: HostPath.nullish(),
  })
  .refine(
    ({ mount_path: path, mode, content_digest: digest = null, manifest_path: manifest = null }) => {
      const isArtifact = mode === 'ro' && manifest !== null && digest !== null && path === artifactPath(digest)
      return isArtifact || (digest === null && path !== ARTIFACTS_PATH && !path.startsWith(`${ARTIFACTS_PATH}/`))
    },
    {
      path: ['mount_path'],
      error: `${ARTIFACTS_PATH}/<64 digits of content_digest> takes read-only mounts with a content_digest and a manifest_path, and nothing else`,
    },
  )
export type BoxMountSpec = z.output<typeof BoxMountSpec>

/** Where a sandbox sees the artifact with this digest. */
function artifactPath(digest: string): string {
  return `${ARTIFACTS_PATH}/${digest.slice(digest.indexOf(':') + 1)}`
}

/** Absent for clients since 0.7.13, which expect a session with other mounts to be left alone. */
const SkillName = z
  .preprocess(
    (value) => (typeof value === 'string' && value.trim() === '' ? null : value),
    plainText
      .trim()
      .max(MAXIMUM_SKILL_NAME, { error: `must be at most ${MAXIMUM_SKILL_NAME} characters` })
      .regex(/^(?=.*[\p{L}\p{N}])[\p{L}\p{N}_-]+$/u, { error: 'must be letters, digits, "-" and "_"' })
      .nullable(),
  )
  .optional()

const Fields = z.object({
  session_id: trimmedText,
  cmd: plainText.trim().default(''),
  workdir: plainText.trim().startsWith('/', { error: 'must begin with /' }).default(DEFAULT_MOUNT),
  timeout_sec: laxInteger.pipe(z.int().positive({ error: 'must be above 0' })).default(30),
  network: BoxNetwork.default('off'),
  env: textMap.default({}),
  image: plainText.default(DEFAULT_BOX_IMAGE),
  host_path: HostPath.nullable().default(null),
  host_path_mode: BoxMountMode.default('rw'),
  mount_path: absoluteInside.default(DEFAULT_MOUNT),
  extra_mounts: z.array(BoxMountSpec, { error: 'must be a list' }).default([]),
  skill_name: SkillName,
  persistent: laxBoolean.default(false),
  cpus: laxNumber.pipe(z.number().positive({ error: 'must be above 0' })).default(1),
  memory_mb: laxInteger.pipe(z.int().min(32, { error: 'must be at least 32' })).default(512),
  pids_limit: laxInteger.pipe(z.int().min(1, { error: 'must be at least 1' })).default(128),
  read_only_rootfs: laxBoolean.default(true),
  workspace_quota_mb: laxInteger.pipe(z.int().min(0, { error: 'must be at least 0' })).default(0),
})

/** A working directory that is not said is the one the workspace is shown at. */
function withWorkdir(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const { workdir, mount_path: mountPath }: { workdir?: unknown; mount_path?: unknown } = value
  const isUnsaid = workdir === undefined || workdir === null || workdir === ''
  return isUnsaid && typeof mountPath === 'string' && mountPath.trim() !== '' ? { ...value, workdir: mountPath } : value
}

export const BoxSpec = z.preprocess(
  withWorkdir,
  Fields.refine(
    ({ host_path: hostPath, host_path_mode: mode, workdir, mount_path: mountPath }) =>
      hostPath === null || mode === 'none' || workdir === mountPath || workdir.startsWith(`${mountPath}/`),
    { path: ['workdir'], error: 'must be mount_path or below it' },
  ),
)
export type BoxSpec = z.output<typeof BoxSpec>
