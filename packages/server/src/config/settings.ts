/**
 * The table of settings: name, accepted values, default and one line of help each. A new setting is one row here.
 *
 * Names are those of `holdfast.yaml` (`limits.memory`); the environment variable follows from the name
 * (`HOLDFAST_LIMITS_MEMORY`), as do `holdfast config show` and the start-up errors. A schema accepts what YAML gives (numbers, lists) and what
 * the environment gives (text), and yields the value the server works with.
 */
import { existsSync } from 'node:fs'
import { isIP } from 'node:net'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import {
  MemoryBytes,
  MISSING_RULES,
  OpenFiles,
  Pids,
  ProfileName,
  ROLES,
  TmpBytes,
  TOOL_OUTPUT_CHARACTERS,
  WorkspaceBytes,
} from '@holdfast/protocol'
import { ControlToken, InstanceId } from '@holdfast/protocol/box'
import { z } from 'zod'
import { CONNECTION_LIMITS, WORK_LIMITS } from '../ingress/pipeline/limits.ts'
import { BACKEND_KINDS } from '../sandboxes/backend.ts'
import { PipelineSettings, ProfileSettings } from './profile-settings.ts'
import { absolutePath, cpus, list, orNone, size, text, uidRange, wholeNumber } from './written-values.ts'

/** Also from a bundle, which lies elsewhere in the tree. */
const repositoryRoot = ancestors(import.meta.dirname).find((directory) => existsSync(join(directory, 'guest', 'build'))) ?? '/'

const seconds = wholeNumber('must be a whole number of seconds').pipe(
  z.int().min(1, { error: 'must be at least 1' }).max(315_360_000, { error: 'must be at most 315360000 (ten years)' }),
)
const yesOrNo = z.union([z.boolean(), z.enum(['true', 'false']).transform((value) => value === 'true')], { error: 'must be true or false' })
const COLLECTOR = 'must be an address such as http://127.0.0.1:4318, without a password'
const count = wholeNumber('must be a whole number').pipe(z.int().min(1, { error: 'must be at least 1' }))

const claim = text('must be the name of a claim').nullable()
const ISSUER = 'must be an address such as https://login.example; http only on loopback'
const NETWORK = 'must be an address or a network such as 10.0.0.0/8'
const ORIGIN = 'must be an origin such as https://app.example, without a path; there is no wildcard'
const DOMAIN = 'must be a name such as preview.example, without a scheme, a port or a wildcard'
const TOOL_CHARACTERS = 'must be a whole number from 1000 to 200000'
const ROLE_MAP = 'must give values their roles, such as ops=operator'
/** `a=b,c=d` */
const pairs = z
  .string()
  .regex(/^[^=,]+=[^=,]+(,[^=,]+=[^=,]+)*$/, { error: ROLE_MAP })
  .transform((value) => Object.fromEntries(value.split(',').map((pair) => pair.split('='))))

export const SETTINGS = {
  home: { schema: absolutePath, fallback: join(homedir(), '.holdfast'), help: 'Directory of the server’s own state.' },
  host: { schema: text('must be an address'), fallback: '127.0.0.1', help: 'Address to listen on; beyond loopback only with a key.' },
  port: {
    schema: wholeNumber('must be a port number').pipe(z.int().max(65_535, { error: 'must be at most 65535' })),
    fallback: 5410,
    help: 'Port to listen on; 0 takes any free one.',
  },
  public_url: {
    schema: text('must be an address such as https://holdfast.example').nullable(),
    fallback: null,
    help: 'Where callers reach this server; told by others on the same database that are asked for its sessions.',
  },
  auth: {
    schema: z.enum(['key', 'none'], { error: 'must be key or none' }),
    fallback: 'key',
    help: 'Whether /v1 needs the API key; none only on loopback.',
  },
  api_key: {
    schema: z.string().min(16, { error: 'must be at least 16 characters' }).nullable(),
    fallback: null,
    help: 'The API key; without it one is made and kept in <home>/admin.key.',
    secret: true,
  },
  'oidc.issuer': {
    schema: text(ISSUER).refine(isIssuer, { error: ISSUER }).nullable(),
    fallback: null,
    help: 'The identity provider whose tokens are accepted beside API keys; without it none are.',
  },
  'oidc.audience': {
    schema: list(/[\s,]+/),
    fallback: [],
    help: 'Whom a token must be for, one or more names; needed with oidc.issuer.',
  },
  'oidc.tenant': { schema: text('must be a tenant'), fallback: 'default', help: 'The tenant of every token, by name or id.' },
  'oidc.tenant_claim': { schema: claim, fallback: null, help: 'The claim that names the tenant instead of oidc.tenant.' },
  'oidc.subject_claim': { schema: text('must be the name of a claim'), fallback: 'sub', help: 'The claim that says who somebody is.' },
  'oidc.groups_claim': { schema: claim, fallback: null, help: 'The claim that lists the groups of somebody; without it there are none.' },
  'oidc.role_claim': {
    schema: claim,
    fallback: null,
    help: 'The claim whose values oidc.roles turns into roles, e.g. realm_access.roles.',
  },
  'oidc.roles': {
    schema: z
      .union([pairs, z.record(z.string(), z.string())], { error: ROLE_MAP })
      .pipe(z.record(z.string(), z.enum(ROLES, { error: `must be one of ${ROLES.join(', ')}` }))),
    fallback: {},
    help: 'Values of oidc.role_claim with the role of each, e.g. ops=operator; the most powerful counts.',
  },
  'oidc.default_role': {
    schema: orNone(z.enum(['viewer', 'member', 'operator']), 'must be viewer, member or operator'),
    fallback: 'member',
    help: 'The role of those whom oidc.roles gives none; none refuses them.',
  },
  'rate_limits.requests_per_second': {
    schema: orNone(count, 'must be a whole number'),
    fallback: 1_000,
    help: 'Requests of one key, or of one user it speaks for, on each server; or none.',
  },
  'rate_limits.burst': { schema: count, fallback: 2_000, help: 'How many of them may come at once.' },
  'rate_limits.service_requests_per_second': {
    schema: count.nullable(),
    fallback: null,
    help: 'Requests of one service key for all users it speaks for, on each server; without it four times those of one user.',
  },
  'rate_limits.service_burst': {
    schema: count.nullable(),
    fallback: null,
    help: 'How many of them may come at once; without it four times those of one user.',
  },
  'rate_limits.failures_per_second': {
    schema: orNone(count, 'must be a whole number'),
    fallback: 10,
    help: 'Attempts of one address with credentials that are not valid, or none.',
  },
  'rate_limits.failure_burst': { schema: count, fallback: 50, help: 'How many of them may come at once.' },
  'in_flight.bytes': {
    schema: size,
    fallback: WORK_LIMITS.bytes.total,
    help: 'Weight of all messages in flight: their text, and what parsing makes of it. Above it large requests get 503.',
  },
  'in_flight.bytes_per_tenant': { schema: size, fallback: WORK_LIMITS.bytes.perTenant, help: 'The same of one tenant; above it 429.' },
  'in_flight.bytes_per_caller': {
    schema: size,
    fallback: WORK_LIMITS.bytes.perCaller,
    help: 'The same of one key, or of one user it speaks for; above it 429.',
  },
  'in_flight.streams': {
    schema: count,
    fallback: WORK_LIMITS.streams.total,
    help: 'Open streams: followed events and output, downloads, sockets, connections to previews. Above it 503.',
  },
  'in_flight.streams_per_tenant': { schema: count, fallback: WORK_LIMITS.streams.perTenant, help: 'The same of one tenant; above it 429.' },
  'in_flight.streams_per_key': {
    schema: count,
    fallback: WORK_LIMITS.streams.perCaller,
    help: 'The same of one key, whomever it speaks for; above it 429.',
  },
  'connections.header_timeout_seconds': {
    schema: seconds,
    fallback: CONNECTION_LIMITS.headerTimeoutMs / 1000,
    help: 'A connection that has not sent a complete header by then is closed, up to half of it later.',
  },
  'connections.max_incomplete': {
    schema: count,
    fallback: CONNECTION_LIMITS.incomplete,
    help: 'Connections without a complete header; above it the oldest is closed.',
  },
  trusted_proxies: {
    schema: list(/[\s,]+/).pipe(z.array(z.string().refine(isNetwork, { error: NETWORK }))),
    fallback: [],
    help: 'Addresses or networks of proxies whose X-Forwarded-For is believed, e.g. 127.0.0.1; without it none.',
  },
  'preview.domain': {
    schema: text(DOMAIN).toLowerCase().refine(isDomain, { error: DOMAIN }).nullable(),
    fallback: null,
    help: 'Domain below which every name leads to this server, for links to web apps inside; without it links work on this machine only.',
  },
  'cors.allowed_origins': {
    schema: list(/[\s,]+/).pipe(z.array(z.string().refine(isOrigin, { error: ORIGIN }))),
    fallback: [],
    help: 'Origins whose pages may use the API from a browser, e.g. https://app.example; without it none.',
  },
  backend: {
    schema: z.enum(['auto', ...BACKEND_KINDS], { error: `must be auto, ${BACKEND_KINDS.join(', ')}` }),
    fallback: 'auto',
    help: 'What isolates the sandboxes; auto takes the first available of podman, docker, nsjail, bubblewrap.',
  },
  image: { schema: text('must be an image name').max(255), fallback: 'python:3.11-slim', help: 'Default image of the container backends.' },
  'images.allowed': {
    schema: list(/[\s,]+/).pipe(z.array(text('must be an image name, or a beginning with * at its end').max(255))),
    fallback: [],
    help: 'Images that callers may have pulled, beside those of this configuration: names, or beginnings such as ghcr.io/acme/*. What is on the engine can always be named.',
  },
  network: {
    schema: z.enum(['off', 'on'], { error: 'must be "off" or "on"' }),
    fallback: 'off',
    help: 'Network of a sandbox unless the request says otherwise.',
  },
  limits: {
    schema: z.enum(['none'], { error: 'must be none, or a section with cpus, memory and pids' }).nullable(),
    fallback: null,
    help: 'none gives up the limits that need cgroups: limits.cpus, limits.memory and limits.pids, unless the same source sets them.',
  },
  'limits.cpus': {
    schema: orNone(cpus, 'must be a number of processors such as 0.5 or 2'),
    fallback: 1,
    help: 'Processors per sandbox, or none.',
  },
  'limits.memory': {
    schema: orNone(size.pipe(MemoryBytes), 'must be a size such as 512m, 1g or 1048576'),
    fallback: 512 * 1024 * 1024,
    help: 'Memory per sandbox, or none.',
  },
  'limits.pids': {
    schema: orNone(wholeNumber('must be a whole number of processes').pipe(Pids), 'must be a whole number of processes'),
    fallback: 128,
    help: 'Processes per sandbox, or none.',
  },
  'limits.tmp': { schema: size.pipe(TmpBytes), fallback: 64 * 1024 * 1024, help: 'Size of each writable tmpfs inside.' },
  'limits.open_files': {
    schema: wholeNumber('must be a whole number of files').pipe(OpenFiles),
    fallback: 1024,
    help: 'Open files per process.',
  },
  'limits.workspace': {
    schema: orNone(size.pipe(WorkspaceBytes), 'must be a size such as 512m, 1g or 1048576'),
    fallback: 10 * 1024 ** 3,
    help: 'What the workspace and the home of a session may hold together, or none.',
  },
  'limits.workspace_entries': {
    schema: count,
    fallback: 1_000_000,
    help: 'How many files and directories, where a workspace has a bound.',
  },
  profile: {
    schema: ProfileName.nullable(),
    fallback: null,
    help: 'The profile of sessions that name none; without it the settings here are all there is.',
  },
  profiles: { schema: ProfileSettings, fallback: {}, help: 'Profiles of your own, by name; see docs/profiles.md.' },
  pipelines: { schema: PipelineSettings, fallback: {}, help: 'Scope, profile and skills of each pipeline, by name; see docs/profiles.md.' },
  'mounts.allowed_roots': {
    schema: list(/:/).pipe(z.array(absolutePath)),
    fallback: [],
    help: 'Host directories below which callers may mount; {tenant} in one becomes the id of the caller’s tenant.',
  },
  sandbox_uids: {
    schema: orNone(uidRange, 'must be a range of user ids such as 2010000000-2089999999'),
    fallback: '2010000000-2089999999',
    help: 'Users of the host that a root server gives to sandboxes, two to each session; none: all sandboxes have uid 1000. Another server gives subordinate ids of its account instead, unless this is none.',
  },
  default_workspace: {
    schema: absolutePath.nullable(),
    fallback: null,
    help: 'Host directory below an allowed root that sessions work in when they name none; may hold {tenant}. Without it each has its own.',
  },
  'docker.host': {
    schema: z.string().nullable(),
    fallback: null,
    help: 'Docker’s address, e.g. unix:///var/run/docker.sock.',
    alias: 'DOCKER_HOST',
  },
  'podman.host': {
    schema: z.string().nullable(),
    fallback: null,
    help: 'Podman’s address; without one its service is started.',
    alias: 'CONTAINER_HOST',
  },
  'podman.args': { schema: list(/\s+/), fallback: [], help: 'Arguments for the podman service, e.g. --runtime runc.' },
  'store.url': {
    schema: text('must be an address such as postgres://user@host/database').nullable(),
    fallback: null,
    help: 'PostgreSQL for several servers; without it the state is the file <home>/holdfast.db.',
    secret: true,
  },
  secret_key: {
    schema: z
      .string()
      .regex(/^[0-9a-f]{64}$/, { error: 'must be 64 hexadecimal digits' })
      .nullable(),
    fallback: null,
    help: 'Seals stored secrets; the same for servers on one database. Without it one is made and kept in <home>/secret.key.',
    secret: true,
  },
  secret_keys_previous: {
    schema: list(/[\s,]+/).pipe(z.array(z.string().regex(/^[0-9a-f]{64}$/, { error: 'must be 64 hexadecimal digits' }))),
    fallback: [],
    help: 'Keys from before rotations of secret_key: what they sealed still opens. Without secret_key they are read from <home>/secret.key.previous.',
    secret: true,
  },
  'sessions.idle_seconds': {
    schema: seconds.nullable(),
    fallback: null,
    help: 'A sandbox without work for so long is given up, its workspace stays; without it each scope has its own time.',
  },
  'sessions.lease_seconds': {
    schema: orNone(seconds, 'must be a whole number of seconds'),
    fallback: 'none',
    help: 'A session that is not refreshed for so long ends, or none.',
  },
  'sessions.lifetime_seconds': {
    schema: orNone(seconds, 'must be a whole number of seconds'),
    fallback: 'none',
    help: 'A session ends so long after it was created, whatever it does, or none.',
  },
  'sessions.retention_seconds': {
    schema: seconds,
    fallback: 30 * 86_400,
    help: 'A suspended session, with its workspace, is kept for so long.',
  },
  'sessions.record_seconds': {
    schema: seconds,
    fallback: 30 * 86_400,
    help: 'The record of a closed session, and of an ended execution in any session, is kept for so long.',
  },
  'tools.output_characters': {
    schema: wholeNumber(TOOL_CHARACTERS).pipe(z.int().min(1_000, { error: TOOL_CHARACTERS }).max(200_000, { error: TOOL_CHARACTERS })),
    fallback: TOOL_OUTPUT_CHARACTERS,
    help: 'How many characters of each stream of a command, and of what a process printed, a tool gives to a model.',
  },
  'sessions.max': { schema: count, fallback: 100, help: 'Sandboxes at one time; `sessions.when_full` says what happens to more.' },
  'sessions.when_full': {
    schema: z.enum(['suspend', 'refuse'], { error: 'must be suspend or refuse' }),
    fallback: 'suspend',
    help: 'Whether an idle session gives up its sandbox when `sessions.max` is reached and another session needs one, or that one is refused.',
  },
  'sessions.max_executions': { schema: count, fallback: 32, help: 'Commands at one time in one session; more are refused.' },
  'sessions.terminal_grace_seconds': {
    schema: seconds,
    fallback: 30,
    help: 'A terminal whose client disconnected without detaching waits so long for it to come back, then ends. So does an attended command after a restart.',
  },
  'sessions.drain_seconds': {
    schema: seconds,
    fallback: 10,
    help: 'A server that stops waits so long for the commands that callers wait for.',
  },
  'sessions.on_stop': {
    schema: z.enum(['keep', 'suspend'], { error: 'must be keep or suspend' }),
    fallback: 'keep',
    help: 'Whether sandboxes run on when the server stops, or are given up with their workspaces kept.',
  },
  'sessions.takeover_seconds': {
    schema: seconds,
    fallback: 300,
    help: 'A server that has not renewed its lease for so long loses its sessions to another one on the same database.',
  },
  'scopes.default': { schema: text('must be a scope').nullable(), fallback: null, help: 'The scope of requests that name none; chat.' },
  'scopes.forced': {
    schema: text('must be a scope').nullable(),
    fallback: null,
    help: 'The scope of every request, whatever it asks for.',
  },
  'scopes.missing': {
    schema: z.enum(MISSING_RULES, { error: 'must be refuse or unknown' }),
    fallback: 'refuse',
    help: 'Requests that leave out a variable of their scope: refuse, or unknown (the variable becomes a fixed word, so such requests share a session).',
  },
  'packing.max_sessions': { schema: count, fallback: 4, help: 'Sessions in one sandbox, where a tenant allows them to share one.' },
  'quotas.sessions': { schema: orNone(count, 'must be a whole number'), fallback: 'none', help: 'Open sessions per tenant, or none.' },
  'quotas.sessions_per_owner': {
    schema: orNone(count, 'must be a whole number'),
    fallback: 'none',
    help: 'Open sessions per owner, or none.',
  },
  'quotas.running': {
    schema: orNone(count, 'must be a whole number'),
    fallback: 'none',
    help: 'Sessions with a sandbox per tenant, or none.',
  },
  'quotas.running_per_owner': {
    schema: orNone(count, 'must be a whole number'),
    fallback: 'none',
    help: 'Sessions with a sandbox per owner, or none.',
  },
  'quotas.profiles': { schema: orNone(count, 'must be a whole number'), fallback: 100, help: 'Stored profiles per tenant, or none.' },
  'quotas.pipelines': { schema: orNone(count, 'must be a whole number'), fallback: 100, help: 'Stored pipelines per tenant, or none.' },
  'quotas.output': {
    schema: orNone(size, 'must be a size such as 512m, 1g or 1048576'),
    fallback: 5 * 1024 ** 3,
    help: 'Execution records with their output per tenant, or none; above it the oldest are removed.',
  },
  'quotas.events': {
    schema: orNone(count, 'must be a whole number'),
    fallback: 5_000_000,
    help: 'Events per tenant, or none; above it the oldest are removed.',
  },
  'quotas.answers': {
    schema: orNone(size, 'must be a size such as 512m, 1g or 1048576'),
    fallback: 256 * 1024 ** 2,
    help: 'Answers kept for Idempotency-Keys per tenant, or none; above it requests with a new key are refused.',
  },
  'events.retention_seconds': { schema: seconds, fallback: 7 * 86_400, help: 'Events are kept for so long.' },
  'webhooks.allowed_networks': {
    schema: list(/[\s,]+/),
    fallback: [],
    help: 'Private networks that webhooks may reach, e.g. 10.0.0.0/8; without it only public addresses.',
  },
  'box.enabled': { schema: yesOrNo, fallback: false, help: 'Whether LangBot’s Box client may connect, at /rpc/ws; see docs/box.md.' },
  'box.control_token': {
    schema: ControlToken.nullable(),
    fallback: null,
    help: 'What a Box client must show; needed when the server listens beyond loopback.',
    secret: true,
    alias: 'LANGBOT_BOX_CONTROL_TOKEN',
  },
  'box.instance': {
    schema: InstanceId.nullable(),
    fallback: null,
    help: 'The LangBot instance that is served; without it the first one that connects.',
    alias: 'LANGBOT_BOX_TRUSTED_INSTANCE_UUID',
  },
  'box.tenant': { schema: text('must be a tenant'), fallback: 'default', help: 'The tenant of everything Box clients do, by name or id.' },
  'box.host_root': {
    schema: absolutePath.nullable(),
    fallback: null,
    help: 'Directory in which workspaces that Box clients name are made; without it local.host_root of box.config, or in the home.',
  },
  'box.ignore_images': {
    schema: yesOrNo,
    fallback: false,
    help: 'Whether an image that a Box client names is ignored, with a warning, on a backend that runs no images (bubblewrap, nsjail); otherwise it is refused.',
  },
  'box.config': {
    schema: z.string({ error: 'must be JSON as text' }).nullable(),
    fallback: null,
    help: 'The section box of LangBot’s configuration, as JSON, to begin with; clients send their own.',
    secret: true,
    alias: 'LANGBOT_BOX_CONFIG',
  },
  'log.level': {
    schema: z.enum(['debug', 'info', 'warn', 'error'], { error: 'must be debug, info, warn or error' }),
    fallback: 'info',
    help: 'Least severity that is logged.',
  },
  'log.format': {
    schema: z.enum(['auto', 'json', 'text'], { error: 'must be auto, json or text' }),
    fallback: 'auto',
    help: 'Log lines as JSON objects, or as text for people; auto: text on a terminal, JSON elsewhere.',
  },
  'metrics.public': {
    schema: yesOrNo,
    fallback: false,
    help: 'Whether /metrics needs no key; only where the network decides who may read it.',
  },
  'telemetry.otlp_url': {
    schema: text(COLLECTOR).refine(isCollector, { error: COLLECTOR }).nullable(),
    fallback: null,
    help: 'Collector that gets traces as OTLP over HTTP, e.g. http://127.0.0.1:4318; without it nothing is traced.',
  },
  'guest.path': { schema: absolutePath, fallback: join(repositoryRoot, 'guest/build/holdfast-guest'), help: 'The static guest binary.' },
  'guest.launcher': {
    schema: absolutePath,
    fallback: join(repositoryRoot, 'guest/build/holdfast-launcher'),
    help: 'The launcher of bubblewrap and nsjail.',
  },
} as const satisfies Record<string, Setting>

interface Setting {
  readonly schema: z.ZodType
  readonly fallback: unknown
  readonly help: string
  /** Never in the file, never printed. */
  readonly secret?: boolean
  /** Another program's variable that is honoured when ours is not set. */
  readonly alias?: string
}

export type SettingName = keyof typeof SETTINGS
export type SettingValue<N extends SettingName> = z.output<(typeof SETTINGS)[N]['schema']>

export const SETTING_NAMES = Object.keys(SETTINGS).filter(isSettingName)

export function isSettingName(name: string): name is SettingName {
  return Object.hasOwn(SETTINGS, name)
}

export function variableOf(name: SettingName): string {
  return `HOLDFAST_${name.replace('.', '_').toUpperCase()}`
}

export function settingOf(name: SettingName): Setting {
  return SETTINGS[name]
}

/** What it needs to be let in there is a secret: OTEL_EXPORTER_OTLP_HEADERS. */
function isCollector(address: string): boolean {
  if (!URL.canParse(address)) return false
  const { protocol, username, password, search, hash } = new URL(address)
  return /^https?:$/.test(protocol) && `${username}${password}${search}${hash}` === ''
}

function isIssuer(address: string): boolean {
  if (!URL.canParse(address)) return false
  const { protocol, hostname, username, password, search, hash } = new URL(address)
  const isLocal = protocol === 'http:' && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
  return (protocol === 'https:' || isLocal) && `${username}${password}${search}${hash}` === ''
}

function isNetwork(entry: string): boolean {
  const [address = '', prefix] = entry.split('/')
  const family = isIP(address)
  return family !== 0 && (prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128)))
}

/** With room before it for the label of a link. */
function isDomain(name: string): boolean {
  return name.length <= 180 && /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(name)
}

/** As a browser writes it, which is how it is compared. */
function isOrigin(entry: string): boolean {
  return URL.canParse(entry) && /^https?:/.test(entry) && new URL(entry).origin === entry
}

function ancestors(directory: string): string[] {
  const parent = dirname(directory)
  return parent === directory ? [directory] : [directory, ...ancestors(parent)]
}
