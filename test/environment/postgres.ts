/**
 * A PostgreSQL server of one's own, for tests that stop it, break its connections, or read events right after they
 * were written: PostgreSQL shows those once no older transaction runs, in any database of the server. All others share one (`shared-postgres.ts`).
 *
 * It has its own data directory, is reachable through its unix socket only, and is gone at the end.
 */
import { spawn, type SpawnOptions } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdirSync, readdirSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { cleanUp } from './clean-up.ts'
import { findProgram, run } from './program.ts'
import { createRunDirectory } from './run-directory.ts'

const DEBIAN_DIRECTORY = '/usr/lib/postgresql'
const OUTPUT_LIMIT = 40

export interface PrivatePostgres {
  /** Directory of the socket, given to clients as the host. */
  readonly host: string
  readonly port: number
  readonly user: string
  readonly database: string
  stop(): Promise<void>
}

/** Whether it can be started at all: `null`, or the reason why not. */
export function postgresObstacle(): string | null {
  return findPostgres('initdb') === null || findPostgres('postgres') === null
    ? 'PostgreSQL is not installed (apt-get install postgresql)'
    : null
}

export async function startPostgres(): Promise<PrivatePostgres> {
  const directory = await createRunDirectory()
  try {
    return await startIn(directory)
  } catch (error) {
    await cleanUp(directory)
    throw error
  }
}

async function startIn(directory: string): Promise<PrivatePostgres> {
  const identity = await unprivilegedUser()
  const home = join(directory, 'pg')
  mkdirSync(home)
  await chmod(directory, 0o711)
  if (identity !== null) chownSync(home, identity.uid, identity.gid)
  const data = join(home, 'data')
  const options: SpawnOptions = { ...identity, cwd: home }
  // No durability: the data dies with the test.
  await finish(
    findPostgres('initdb'),
    ['-D', data, '-U', 'holdfast', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync'],
    options,
  )
  const settings = ['listen_addresses=', 'fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'max_connections=300']
  const args = ['-D', data, '-k', home, ...settings.flatMap((setting) => ['-c', setting])]
  await serve(findPostgres('postgres'), args, options)
  return { host: home, port: 5432, user: 'holdfast', database: 'postgres', stop: () => cleanUp(directory) }
}

/** PostgreSQL refuses to run as root; Debian's package brings a user for it. */
async function unprivilegedUser(): Promise<{ readonly uid: number; readonly gid: number } | null> {
  if (process.getuid?.() !== 0) return null
  const [uid, gid] = await Promise.all([run('id', ['-u', 'postgres']), run('id', ['-g', 'postgres'])])
  return { uid: Number(uid), gid: Number(gid) }
}

function findPostgres(program: string): string | null {
  return findProgram(
    program,
    debianVersions().map((version) => join(DEBIAN_DIRECTORY, version, 'bin')),
  )
}

function debianVersions(): readonly string[] {
  try {
    return readdirSync(DEBIAN_DIRECTORY).toSorted((left, right) => Number(right) - Number(left))
  } catch {
    return [] // not Debian's package
  }
}

async function finish(program: string | null, args: readonly string[], options: SpawnOptions): Promise<void> {
  const child = spawn(program ?? '', args, { ...options, stdio: 'ignore' })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`initdb ended with exit code ${code}`)
}

/** Resolves when the server says that it accepts connections. */
async function serve(program: string | null, args: readonly string[], options: SpawnOptions): Promise<void> {
  const child = spawn(program ?? '', args, { ...options, detached: true, stdio: ['ignore', 'ignore', 'pipe'] })
  if (child.stderr === null) throw new Error('postgres was started without its stderr')
  const lines: string[] = []
  for await (const line of createInterface(child.stderr)) {
    if (line.includes('ready to accept connections')) {
      child.stderr.resume() // a full pipe would stop the server
      child.unref()
      return
    }
    if (lines.length < OUTPUT_LIMIT) lines.push(line)
  }
  throw new Error(`postgres did not start: ${lines.join(' | ')}`)
}
