/**
 * Packages from npm and PyPI as their makers publish them, for tests that point them at us.
 *
 * Each set is made once per machine and kept in the user's cache. The machine's own configuration says which registry is asked; where there
 * is none, or no Python or npm, there is a reason to skip.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import type { Socket } from 'node:net'
import { homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { findProgram } from '../environment/program.ts'

const INSTALL_LIMIT_MS = 300_000
const PIP_OPTIONS = ['--quiet', '--disable-pip-version-check', '--no-input', '--timeout', '15', '--retries', '1']
const NPM_OPTIONS = ['--no-audit', '--no-fund', '--no-package-lock', '--ignore-scripts', '--loglevel=error', '--fetch-retries=1']
/** What npm tells its scripts about the package that it runs them for; another npm would take it for its own settings. */
const OF_THE_RUNNING_NPM = /^npm_(?:config_(?:local_prefix|prefix|global_prefix)$|package_|lifecycle_|command$)/

export interface PublishedSet {
  /** For people and for the name of its place. */
  readonly name: string
  /** Makes it in a directory that does not exist yet. */
  make(path: string): Promise<void>
}

export type Published = { readonly path: string; readonly skipReason: null } | { readonly path: null; readonly skipReason: string }

/** `HOLDFAST_REQUIRE_INTEROP=1`: its absence is a failure. */
export async function published(set: PublishedSet): Promise<Published> {
  try {
    return { path: await placeOf(set), skipReason: null }
  } catch (error) {
    if (process.env.HOLDFAST_REQUIRE_INTEROP === '1') throw error
    return { path: null, skipReason: `it cannot be installed: ${firstLines(error)}` }
  }
}

/** For the name of a suite. */
export function publishedBecause({ skipReason }: Pick<Published, 'skipReason'>): string {
  return skipReason === null ? '' : ` (skipped: ${skipReason})`
}

/** A virtual environment with these; its interpreter is `bin/python3`. */
export function pythonEnvironment(...requirements: readonly string[]): PublishedSet {
  return {
    name: nameOf(requirements),
    async make(path) {
      await run(python(), ['-m', 'venv', path])
      await run(join(path, 'bin', 'python3'), ['-m', 'pip', 'install', ...PIP_OPTIONS, ...requirements])
    },
  }
}

/** One with a package of which only a part is used: all that it needs is left out, and `requirements` are there instead. */
export function partialEnvironment(only: string, ...requirements: readonly string[]): PublishedSet {
  const whole = pythonEnvironment(...requirements)
  return {
    name: `part-${nameOf([only, ...requirements])}`,
    async make(path) {
      await whole.make(path)
      await run(join(path, 'bin', 'python3'), ['-m', 'pip', 'install', ...PIP_OPTIONS, '--no-deps', only])
    },
  }
}

/** These and all that they need as a directory for `PYTHONPATH`, for this interpreter. */
export function pythonLibraries(interpreter: string, ...requirements: readonly string[]): PublishedSet {
  return {
    name: `libraries-${nameOf(requirements)}`,
    make: (path) =>
      withEnvironment(interpreter, path, (pip) => run(pip, ['-m', 'pip', 'install', ...PIP_OPTIONS, '--target', path, ...requirements])),
  }
}

/**
 * The files of these and of all that they need, to be installed where there is no registry. They fit the Python that is named, which is the
 * one of this system unless it is another.
 */
export function wheels(requirements: readonly string[], interpreter = '/usr/bin/python3'): PublishedSet {
  return {
    name: `wheels-${nameOf(requirements)}`,
    make: (path) =>
      withEnvironment(interpreter, path, (pip) =>
        run(pip, ['-m', 'pip', 'download', ...PIP_OPTIONS, '--only-binary', ':all:', '-d', path, ...requirements]),
      ),
  }
}

/** A directory with these in its `node_modules`; none of their scripts was run. */
export function npmTree(...packages: readonly string[]): PublishedSet {
  return {
    name: `npm-${nameOf(packages)}`,
    async make(path) {
      const npm = findProgram('npm')
      if (npm === null) throw new Error('there is no npm')
      mkdirSync(path)
      writeFileSync(join(path, 'package.json'), '{ "private": true }\n')
      await run(npm, ['install', ...NPM_OPTIONS, ...packages], path)
    },
  }
}

/** Lends a Python that has pip, beside the place of what it makes. */
async function withEnvironment(interpreter: string, path: string, work: (python: string) => Promise<void>): Promise<void> {
  const environment = `${path}.env`
  try {
    await run(interpreter, ['-m', 'venv', environment])
    await work(join(environment, 'bin', 'python3'))
  } finally {
    rmSync(environment, { recursive: true, force: true })
  }
}

async function placeOf({ name, make }: PublishedSet): Promise<string> {
  const directory = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'holdfast', 'interop')
  const path = join(directory, name)
  if (existsSync(path)) return path
  mkdirSync(directory, { recursive: true })
  const endTurn = await takeTurn(name)
  try {
    if (!existsSync(path)) await makeWhole(path, make)
    return path
  } finally {
    endTurn()
  }
}

async function makeWhole(path: string, make: PublishedSet['make']): Promise<void> {
  const temporary = join(dirname(path), `.${basename(path)}.${process.pid}`)
  try {
    await make(temporary)
    renameSync(temporary, path)
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}

/** One of them is its own name; of several the first, and a mark of all. */
function nameOf(requirements: readonly string[]): string {
  const [first = 'nothing'] = requirements
  const readable = first.replaceAll('/', '+')
  if (requirements.length === 1) return readable
  return `${readable}-${createHash('sha256').update(JSON.stringify(requirements)).digest('hex').slice(0, 12)}`
}

function python(): string {
  const found = findProgram('python3')
  if (found === null) throw new Error('there is no python3')
  return found
}

async function run(program: string, args: readonly string[], cwd?: string): Promise<void> {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !OF_THE_RUNNING_NPM.test(name)))
  await promisify(execFile)(program, args, { timeout: INSTALL_LIMIT_MS, env, ...(cwd === undefined ? {} : { cwd }) })
}

/** Test files run side by side; one of them installs. The name is free again when its owner is gone, however it went. */
async function takeTurn(set: string): Promise<() => void> {
  // Names of sockets are short.
  const name = `\0holdfast-interop-${process.getuid?.() ?? 0}-${createHash('sha256').update(set).digest('hex').slice(0, 32)}`
  const waiting = new Set<Socket>()
  for (;;) {
    const server = createServer((socket) => void waiting.add(socket.on('error', () => undefined).resume()))
    try {
      server.listen(name)
      await once(server, 'listening')
      return () => {
        server.close()
        for (const socket of waiting) socket.destroy()
      }
    } catch {
      // Decision: somebody has it; the end of this connection is the end of his turn.
      await once(connect(name).resume(), 'close').catch(() => undefined)
    }
  }
}

function firstLines(error: unknown): string {
  const complaint = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : ''
  const text = complaint === '' ? String(error) : complaint
  return text.trim().split('\n').slice(-2).join(' | ').slice(0, 300)
}
