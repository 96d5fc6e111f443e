/**
 * Configuration: defaults < `holdfast.yaml` < `HOLDFAST_*` < flags, checked strictly, every value with its source.
 *
 * The only reader of the environment in this package. Everything else receives what it needs from the composition root.
 */
import { join, resolve } from 'node:path'
import { fieldProblems, HoldfastError, problemSentence } from '@holdfast/protocol'
import type { MissingRule } from '@holdfast/protocol'
import type { z } from 'zod'
import type { Rate } from './access/token-buckets.ts'
import { oidcConfig } from './config/oidc-config.ts'
import type { OidcConfig } from './config/oidc-config.ts'
import { configuredProfiles } from './config/profile-settings.ts'
import { environmentValues, fileValues, withoutLimits } from './config/sources.ts'
import type { RawValue, RawValues } from './config/sources.ts'
import { SETTING_NAMES, SETTINGS, settingOf } from './config/settings.ts'
import type { SettingName, SettingValue } from './config/settings.ts'
import { CONNECTION_LIMITS } from './ingress/pipeline/limits.ts'
import type { ConnectionLimits, WorkLimits } from './ingress/pipeline/limits.ts'
import { namedHostRoot } from './ingress/box/settings.ts'
import type { BoxSettings } from './ingress/box/settings.ts'
import type { Profile } from './policy/profiles.ts'
import type { UidRange } from './sandboxes/host-users.ts'
import type { Limits } from './sandboxes/spec.ts'
import type { QuotaLimits } from './sessions/quotas.ts'

export interface Config {
  readonly home: string
  readonly host: string
  readonly port: number
  readonly publicUrl: string | null
  readonly auth: 'key' | 'none'
  readonly apiKey: string | null
  /** `null`: no tokens, only keys. */
  readonly oidc: OidcConfig | null
  readonly rates: {
    /** `null`: as often as they like; so for both. */
    readonly requests: Rate | null
    readonly failures: Rate | null
    /** Of a service key, for all users that it speaks for. */
    readonly services: Rate | null
  }
  readonly inFlight: WorkLimits
  readonly connections: ConnectionLimits
  readonly trustedProxies: readonly string[]
  /** Links to web apps inside have hosts below it; `null`: below localhost. */
  readonly previewDomain: string | null
  readonly allowedOrigins: readonly string[]
  readonly backend: SettingValue<'backend'>
  readonly image: string
  /** A person set it. */
  readonly isImageNamed: boolean
  /** Images that may be fetched for callers, beside those of this configuration. */
  readonly allowedImages: readonly string[]
  readonly network: 'off' | 'on'
  readonly limits: Limits
  /** Of what each session's workspace holds; `null`: no bound. */
  readonly workspaceBytes: number | null
  /** Of each stream of a command that a model runs. */
  readonly toolOutputCharacters: number
  readonly workspaceEntries: number
  /** Of sessions that name none; `null`: none. */
  readonly profile: string | null
  readonly profiles: readonly Profile[]
  readonly pipelines: SettingValue<'pipelines'>
  readonly allowedMountRoots: readonly string[]
  /** Host users for sandboxes; `null`: all have the same. */
  readonly sandboxUids: UidRange | null
  readonly defaultWorkspace: string | null
  readonly dockerHost: string | null
  readonly podmanHost: string | null
  readonly podmanArgs: readonly string[]
  readonly storeUrl: string | null
  /** Hexadecimal; `null`: the home's own. */
  readonly secretKey: string | null
  /** Hexadecimal; from before rotations of `secretKey`. */
  readonly previousSecretKeys: readonly string[]
  readonly sessions: {
    /** `null`: each scope's own. */
    readonly idleSeconds: number | null
    readonly leaseSeconds: number | null
    readonly lifetimeSeconds: number | null
    readonly retentionSeconds: number
    readonly recordSeconds: number
    readonly maxSandboxes: number
    readonly whenFull: 'suspend' | 'refuse'
    readonly maxExecutions: number
    readonly terminalGraceSeconds: number
    readonly drainSeconds: number
    readonly onStop: 'keep' | 'suspend'
    readonly takeoverSeconds: number
  }
  readonly defaultScope: string | null
  readonly forcedScope: string | null
  readonly missingVariables: MissingRule
  readonly packedSessions: number
  readonly quotas: QuotaLimits
  readonly eventRetentionSeconds: number
  readonly webhookNetworks: readonly string[]
  readonly box: BoxSettings
  readonly logLevel: SettingValue<'log.level'>
  readonly logFormat: SettingValue<'log.format'>
  readonly isMetricsPublic: boolean
  readonly otlpUrl: string | null
  /** Where its file is, or would be. */
  readonly configFile: string
  readonly guestPath: string
  readonly launcherPath: string
  /** Every setting as `holdfast config show` prints it; secrets are masked. */
  readonly shown: readonly ShownSetting[]
}

export interface ShownSetting {
  readonly name: SettingName
  readonly value: unknown
  readonly source: string
}

/** Values by setting name, as a command line gives them; `config` names the file. */
export type ConfigFlags = Readonly<Partial<Record<SettingName | 'config', string>>>

export function loadConfig(flags: ConfigFlags = {}, environment: NodeJS.ProcessEnv = process.env): Config {
  const fromFlags = flagValues(flags)
  const fromEnvironment = environmentValues(environment)
  const early = valueReader([fromFlags, fromEnvironment])
  const namedFile = flags.config ?? environment['HOLDFAST_CONFIG']
  const configFile = namedFile === undefined ? join(early('home'), 'holdfast.yaml') : resolve(namedFile)
  const fromFile = fileValues(configFile, namedFile !== undefined)

  const sources = [fromFlags, fromEnvironment, fromFile].map(withoutLimits)
  const read = valueReader(sources)
  const network = read('network')
  const limits = {
    cpus: read('limits.cpus'),
    memoryBytes: read('limits.memory'),
    pids: read('limits.pids'),
    tmpBytes: read('limits.tmp'),
    openFiles: read('limits.open_files'),
  }
  return {
    home: read('home'),
    host: read('host'),
    port: read('port'),
    publicUrl: read('public_url'),
    auth: read('auth'),
    apiKey: read('api_key'),
    oidc: oidcConfig(read),
    rates: {
      requests: rateOf(read('rate_limits.requests_per_second'), read('rate_limits.burst')),
      failures: rateOf(read('rate_limits.failures_per_second'), read('rate_limits.failure_burst')),
      services: serviceRate(read),
    },
    inFlight: {
      bytes: {
        perCaller: read('in_flight.bytes_per_caller'),
        perTenant: read('in_flight.bytes_per_tenant'),
        total: read('in_flight.bytes'),
      },
      streams: {
        perCaller: read('in_flight.streams_per_key'),
        perTenant: read('in_flight.streams_per_tenant'),
        total: read('in_flight.streams'),
      },
    },
    connections: {
      ...CONNECTION_LIMITS,
      headerTimeoutMs: read('connections.header_timeout_seconds') * 1000,
      incomplete: read('connections.max_incomplete'),
    },
    trustedProxies: read('trusted_proxies'),
    previewDomain: read('preview.domain'),
    allowedOrigins: read('cors.allowed_origins'),
    backend: read('backend'),
    image: read('image'),
    isImageNamed: firstOf(sources, 'image') !== undefined,
    allowedImages: read('images.allowed'),
    network,
    limits,
    toolOutputCharacters: read('tools.output_characters'),
    workspaceBytes: read('limits.workspace'),
    workspaceEntries: read('limits.workspace_entries'),
    profile: read('profile'),
    profiles: configuredProfiles(read('profiles'), { network, limits }),
    pipelines: read('pipelines'),
    allowedMountRoots: read('mounts.allowed_roots'),
    sandboxUids: read('sandbox_uids'),
    defaultWorkspace: read('default_workspace'),
    dockerHost: read('docker.host'),
    podmanHost: read('podman.host'),
    podmanArgs: read('podman.args'),
    storeUrl: read('store.url'),
    secretKey: read('secret_key'),
    previousSecretKeys: read('secret_keys_previous'),
    sessions: {
      idleSeconds: read('sessions.idle_seconds'),
      leaseSeconds: read('sessions.lease_seconds'),
      lifetimeSeconds: read('sessions.lifetime_seconds'),
      retentionSeconds: read('sessions.retention_seconds'),
      recordSeconds: read('sessions.record_seconds'),
      maxSandboxes: read('sessions.max'),
      whenFull: read('sessions.when_full'),
      maxExecutions: read('sessions.max_executions'),
      terminalGraceSeconds: read('sessions.terminal_grace_seconds'),
      drainSeconds: read('sessions.drain_seconds'),
      onStop: read('sessions.on_stop'),
      takeoverSeconds: read('sessions.takeover_seconds'),
    },
    defaultScope: read('scopes.default'),
    forcedScope: read('scopes.forced'),
    missingVariables: read('scopes.missing'),
    packedSessions: read('packing.max_sessions'),
    quotas: {
      open_sessions: read('quotas.sessions'),
      open_sessions_per_owner: read('quotas.sessions_per_owner'),
      compute_sessions: read('quotas.running'),
      compute_sessions_per_owner: read('quotas.running_per_owner'),
      profiles: read('quotas.profiles'),
      pipelines: read('quotas.pipelines'),
      kept_output_bytes: read('quotas.output'),
      kept_events: read('quotas.events'),
      kept_answer_bytes: read('quotas.answers'),
    },
    eventRetentionSeconds: read('events.retention_seconds'),
    webhookNetworks: read('webhooks.allowed_networks'),
    box: {
      isEnabled: read('box.enabled'),
      token: read('box.control_token'),
      instance: read('box.instance'),
      tenant: read('box.tenant'),
      hostRoot: read('box.host_root') ?? namedHostRoot(read('box.config')),
      ignoresImages: read('box.ignore_images'),
      config: read('box.config'),
    },
    logLevel: read('log.level'),
    logFormat: read('log.format'),
    isMetricsPublic: read('metrics.public'),
    otlpUrl: read('telemetry.otlp_url'),
    configFile,
    guestPath: read('guest.path'),
    launcherPath: read('guest.launcher'),
    shown: SETTING_NAMES.map((name) => shownSetting(name, read(name), firstOf(sources, name))),
  }
}

function rateOf(perSecond: number | null, burst: number): Rate | null {
  return perSecond === null ? null : { perSecond, burst }
}

/** A service key has users of its own, so it may ask more often than one of them. */
const SERVICE_FACTOR = 4

function serviceRate(read: ReturnType<typeof valueReader>): Rate | null {
  const perUser = read('rate_limits.requests_per_second')
  const perSecond = read('rate_limits.service_requests_per_second')
  const burst = read('rate_limits.service_burst') ?? SERVICE_FACTOR * read('rate_limits.burst')
  return rateOf(perSecond ?? (perUser === null ? null : SERVICE_FACTOR * perUser), burst)
}

function flagValues(flags: ConfigFlags): RawValues {
  const values = new Map<SettingName, RawValue>()
  for (const name of SETTING_NAMES) {
    const value = flags[name]
    if (value !== undefined) values.set(name, { value, source: `--${name.replace(/^limits\./, '').replace(/[._]/g, '-')}` })
  }
  return values
}

function firstOf(sources: readonly RawValues[], name: SettingName): RawValue | undefined {
  return sources.find((source) => source.has(name))?.get(name)
}

function valueReader(sources: readonly RawValues[]) {
  return function read<N extends SettingName>(name: N): SettingValue<N> {
    const raw = firstOf(sources, name)
    const schema: { safeParse: (typeof SETTINGS)[N]['schema']['safeParse'] } = SETTINGS[name].schema
    const parsed = schema.safeParse(raw === undefined ? SETTINGS[name].fallback : raw.value)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema is that of N, which the table's union hides
    if (parsed.success) return parsed.data as SettingValue<N>
    throw new HoldfastError('config_invalid', problemOf(name, raw, parsed.error), {
      key: name,
      source: raw?.source ?? 'default',
    })
  }
}

function problemOf(name: SettingName, raw: RawValue | undefined, error: z.ZodError): string {
  const problems = fieldProblems(error)
  const label = raw === undefined || raw.source.startsWith('/') ? `${raw?.source ?? 'default'}: ${name}` : raw.source
  // A section is too long to repeat; the problem names the field in it.
  if (problems.every(({ field }) => field !== '') && isSection(raw?.value))
    return problemSentence(problems.map(({ field, problem }) => ({ field: `${label}.${field}`, problem })))
  return `${label}${settingOf(name).secret ? '' : ` ${JSON.stringify(raw?.value)}`} ${problemSentence(problems)}`
}

function isSection(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function shownSetting(name: SettingName, value: unknown, raw: RawValue | undefined): ShownSetting {
  const shownValue = settingOf(name).secret && value !== null ? '********' : value
  return { name, value: shownValue, source: raw?.source ?? 'default' }
}
