/**
 * An `ExecRequest` to the fields of an EXEC frame, refused with one clear sentence where Linux or the guest would refuse it.
 *
 * ingress → access → policy → sessions → sandboxes → [guest] → result
 */
import { Tag } from './fields.ts'
import type { Field } from './fields.ts'
import type { ExecRequest, RlimitName } from './inside.ts'
import { invalid, requireAbsolute, requireCount, requireNoNul, requireTag, requireTerminalSize, requireUid } from './require.ts'

/** Linux's MAX_ARG_STRLEN, the NUL included. */
const MAX_ARGUMENT_BYTES = 131_072
const MAX_ARGUMENTS_AND_ENVIRONMENT_BYTES = 1_000_000
const DEFAULT_CWD = '/workspace'

const DEFAULT_HOME = '/home/user'
/** Last the names that jails add to those of the host; in an image there is no such directory. */
const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/etc/holdfast/bin'

const COMMON_ENVIRONMENT: Readonly<Record<string, string>> = {
  LANG: 'C.UTF-8',
  // Debian's Python refuses `pip install` otherwise; nothing of the system can be broken, commands cannot write there.
  PIP_BREAK_SYSTEM_PACKAGES: '1',
  // Otherwise npm looks for it below the prefix, and loses a registry or certificate that the system's administrator configured.
  npm_config_globalconfig: '/etc/npmrc',
}
const DEFAULT_ENVIRONMENT = { ...homeEnvironment(DEFAULT_HOME), USER: 'user', LOGNAME: 'user', ...COMMON_ENVIRONMENT }
const TERMINAL = { TERM: 'xterm-256color' }
const TERMINAL_ENVIRONMENT = { ...DEFAULT_ENVIRONMENT, ...TERMINAL }

/** Below the home, so that it is as private; its maker makes it with the home. */
export const PRIVATE_TMP = '.tmp'

/** Linux's RLIMIT numbers. */
const RLIMITS: Readonly<Record<RlimitName, number>> = {
  cpu: 0,
  fsize: 1,
  data: 2,
  stack: 3,
  core: 4,
  nproc: 6,
  nofile: 7,
  memlock: 8,
  as: 9,
}
const RLIMIT_INFINITY = 0xffff_ffff_ffff_ffffn

/** Throws `invalid_request` for what no guest could start. */
export function checkExecRequest(request: ExecRequest): void {
  execFields(request, 0)
}

export function execFields(request: ExecRequest, windowBytes: number): Field[] {
  const fields: Field[] = []
  const argumentBytes = addArguments(fields, request.argv)
  const environmentBytes = addEnvironment(fields, request.env ?? {}, defaultEnvironment(request))
  requireTotal(argumentBytes + environmentBytes)
  const cwd = request.cwd ?? (request.uid === undefined ? DEFAULT_CWD : (request.home ?? '/'))
  requireAbsolute('cwd', cwd)
  fields.push([Tag.CWD, cwd], [Tag.WINDOW, windowBytes])
  addOptions(fields, request)
  return fields
}

function defaultEnvironment({ uid, home, pty }: ExecRequest): Readonly<Record<string, string>> {
  if (home !== undefined) requireAbsolute('home', home)
  if (uid === undefined) {
    if (home !== undefined) throw invalid('home is for an execution with a uid of its own')
    return pty ? TERMINAL_ENVIRONMENT : DEFAULT_ENVIRONMENT
  }
  // No passwd file names it, so neither do we.
  const name = `u${uid}`
  const place = home === undefined ? { HOME: '/', PATH: SYSTEM_PATH } : { ...homeEnvironment(home), TMPDIR: `${home}/${PRIVATE_TMP}` }
  return { ...place, USER: name, LOGNAME: name, ...COMMON_ENVIRONMENT, ...(pty ? TERMINAL : {}) }
}

/**
 * Where programs are installed to and found: pip, npm and uv put them into `~/.local/bin`, cargo and go into directories of their own. Not
 * PIP_PREFIX, PYTHONPATH or VIRTUAL_ENV: they break virtual environments.
 */
function homeEnvironment(home: string): Readonly<Record<string, string>> {
  const local = `${home}/.local`
  return { PATH: `${local}/bin:${SYSTEM_PATH}:${home}/.cargo/bin:${home}/go/bin`, HOME: home, npm_config_prefix: local }
}

/** Adds ARGV and returns what it takes in the program's memory. */
export function addArguments(fields: Field[], argv: readonly string[]): number {
  if (argv.length === 0 || argv[0] === '') throw invalid('argv must name a program, but is empty')
  let total = 0
  for (const [index, argument] of argv.entries()) {
    total += requireArgument(`argv[${index}]`, argument)
    fields.push([Tag.ARGV, argument])
  }
  return total
}

function addEnvironment(fields: Field[], env: Readonly<Record<string, string>>, defaults: Readonly<Record<string, string>>): number {
  let total = 0
  const add = (name: string, value: string): void => {
    const assignment = `${name}=${value}`
    total += requireArgument(`env ${JSON.stringify(name.slice(0, 100))}`, assignment)
    fields.push([Tag.ENV, assignment])
  }
  for (const [name, value] of Object.entries(env)) {
    if (name === '' || name.includes('='))
      throw invalid(`an env name must be non-empty and without "=", but one is ${JSON.stringify(name.slice(0, 100))}`)
    add(name, value)
  }
  for (const name in defaults) if (!Object.hasOwn(env, name)) add(name, defaults[name] ?? '')
  return total
}

/** Bytes with the NUL that ends it. */
function requireArgument(what: string, text: string): number {
  requireNoNul(what, text)
  const bytes = Buffer.byteLength(text) + 1
  if (bytes > MAX_ARGUMENT_BYTES)
    throw invalid(`${what} has ${bytes - 1} bytes, above Linux's limit of ${MAX_ARGUMENT_BYTES - 1}; pass it by stdin or a file`)
  return bytes
}

function requireTotal(bytes: number): void {
  if (bytes <= MAX_ARGUMENTS_AND_ENVIRONMENT_BYTES) return
  throw invalid(`argv and env have ${bytes} bytes together, above the limit of ${MAX_ARGUMENTS_AND_ENVIRONMENT_BYTES}`)
}

function addOptions(fields: Field[], request: ExecRequest): void {
  if (request.user !== undefined) {
    requireNoNul('user', request.user)
    if (request.user === '') throw invalid('user must be a name, but is empty')
    fields.push([Tag.USER, request.user])
  }
  if (request.uid !== undefined) {
    if (request.user !== undefined) throw invalid('user and uid both say who runs this; give one')
    requireUid(request.uid)
    fields.push([Tag.UID, request.uid])
  }
  if (request.tag !== undefined) {
    requireTag(request.tag)
    fields.push([Tag.TAG, request.tag])
  }
  if (request.pty) {
    requireTerminalSize(request.pty)
    fields.push([Tag.PTY, terminalBytes(request.pty.cols, request.pty.rows)])
  } else if (request.stdin === 'pipe') {
    fields.push([Tag.STDIN, 1])
  }
  addLimits(fields, request)
  if (request.ephemeral) fields.push([Tag.EPHEMERAL, 1])
}

function addLimits(fields: Field[], request: ExecRequest): void {
  if (request.timeoutMs !== undefined) {
    requireCount('timeoutMs', request.timeoutMs)
    fields.push([Tag.TIMEOUT_MS, request.timeoutMs])
  }
  if (request.graceMs !== undefined) {
    requireCount('graceMs', request.graceMs)
    fields.push([Tag.GRACE_MS, request.graceMs])
  }
  for (const [name, limit] of Object.entries(request.rlimits ?? {})) fields.push([Tag.RLIMIT, rlimitBytes(name, limit)])
}

function terminalBytes(cols: number, rows: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt16LE(cols, 0)
  bytes.writeUInt16LE(rows, 2)
  return bytes
}

function rlimitBytes(name: string, [soft, hard]: readonly [soft: number, hard: number]): Buffer {
  const resource = Object.entries(RLIMITS).find(([known]) => known === name)?.[1]
  if (resource === undefined) throw invalid(`rlimit ${JSON.stringify(name)} is none of ${Object.keys(RLIMITS).join(', ')}`)
  if (soft > hard) throw invalid(`rlimit ${name} has the soft value ${soft} above its hard value ${hard}`)
  const bytes = Buffer.alloc(20)
  bytes.writeUInt32LE(resource, 0)
  bytes.writeBigUInt64LE(rlimitValue(name, soft), 4)
  bytes.writeBigUInt64LE(rlimitValue(name, hard), 12)
  return bytes
}

function rlimitValue(name: string, value: number): bigint {
  if (value === Infinity) return RLIMIT_INFINITY
  if (!Number.isSafeInteger(value) || value < 0)
    throw invalid(`rlimit ${name} must be a whole number from 0 on or Infinity, but is ${value}`)
  return BigInt(value)
}
