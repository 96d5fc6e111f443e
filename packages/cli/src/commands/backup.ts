/** `holdfast backup` and `holdfast restore`: the home of a server as one file, and back. They run on the server's machine, as its user. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { HoldfastError } from '@holdfast/protocol/errors'
import type { Command } from 'commander'
import { note } from '../failure.ts'
import { wrongUse } from '../flags/session-flags.ts'
import { startSpinner } from '../spinner.ts'

const DATABASE = 'holdfast.db'
const DRAFT = '.backup-'
/** State of one life of the server, or of running sandboxes; the database is copied by SQLite. */
const LEFT_OUT = /^(?:sandboxes|jail|disk-reserve|clock\.json|server\.(?:lock|pid).*|holdfast\.db.*|\.backup-.*)$/
/** `tar` ends with this when a file changed while it was read. */
const TAR_CHANGED = 1

interface HomeFlag {
  readonly home?: string
}

export function addBackup(program: Command): void {
  program
    .command('backup')
    .description('write everything that the server keeps into one tar file: database, keys, settings, skills, workspaces')
    .argument('<file>', 'the file to make, readable by you only; it must not exist')
    .option('--home <directory>', 'the home of the server (default HOLDFAST_HOME, else ~/.holdfast)')
    .addHelpText(
      'after',
      `
Examples:
  holdfast backup /backup/holdfast.tar
  HOLDFAST_HOME=/srv/holdfast holdfast backup /backup/holdfast.tar

Works while the server runs: the database is copied as it is at one moment, files as they are when they are read. Stop the server for
a copy without any change in between. It has the keys of the server: keep it as safe as the home.`,
    )
    .action(async (file: string, flags: HomeFlag) => backUp(resolve(file), await homeOf(flags)))
  program
    .command('restore')
    .description('put a backup into a home that has no database, while no server runs on it')
    .argument('<file>', 'a file made by the verb backup')
    .option('--home <directory>', 'the home to fill (default HOLDFAST_HOME, else ~/.holdfast)')
    .addHelpText('after', `\nExample:\n  holdfast restore /backup/holdfast.tar --home /srv/holdfast`)
    .action(async (file: string, flags: HomeFlag) => restore(resolve(file), await homeOf(flags)))
}

interface Home {
  readonly path: string
  readonly isDatabaseElsewhere: boolean
}

async function homeOf(flags: HomeFlag): Promise<Home> {
  const { loadConfig } = await import('@holdfast/server')
  const { home, storeUrl } = loadConfig(flags.home === undefined ? {} : { home: resolve(flags.home) })
  return { path: home, isDatabaseElsewhere: storeUrl !== null }
}

async function backUp(file: string, { path: home, isDatabaseElsewhere }: Home): Promise<void> {
  if (!existsSync(join(home, 'server-id'))) throw wrongUse(`there is no home of a server at ${home}; name it with --home`)
  if (existsSync(file)) throw wrongUse(`${file} exists; name another file`)
  // A backup that was killed leaves its copy of the database.
  for (const name of readdirSync(home).filter((entry) => entry.startsWith(DRAFT))) rmSync(join(home, name), { recursive: true })
  const draft = mkdtempSync(join(home, DRAFT))
  const spinner = startSpinner('copying the database')
  try {
    if (isDatabaseElsewhere) note('the database is not in the home: back it up with pg_dump')
    else await copyDatabase(join(home, DATABASE), join(draft, DATABASE))
    spinner.say('copying the files')
    const entries = readdirSync(home).filter((name) => !LEFT_OUT.test(name))
    const database = isDatabaseElsewhere ? [] : ['-C', draft, DATABASE]
    const part = `${file}.part`
    const output = openSync(part, 'w', 0o600)
    try {
      const changed = await tar(['--create', '--numeric-owner', '--sparse', ...database, '-C', home, '--', ...entries], output)
      if (changed) note('some files changed while they were read; stop the server for an exact copy')
    } catch (error) {
      rmSync(part, { force: true })
      throw error
    } finally {
      closeSync(output)
    }
    renameSync(part, file)
  } finally {
    rmSync(draft, { recursive: true, force: true })
    spinner.stop()
  }
  note(`the home ${home} is in ${file}`)
}

async function restore(file: string, { path: home }: Home): Promise<void> {
  if (!existsSync(file)) throw wrongUse(`there is no file ${file}`)
  if (existsSync(join(home, DATABASE))) throw wrongUse(`${home} has a database; move that directory away, or name another with --home`)
  mkdirSync(home, { recursive: true, mode: 0o700 })
  const { lockHome } = await import('@holdfast/server')
  const lock = lockHome(home)
  try {
    await tar(['--extract', '--preserve-permissions', '--numeric-owner', '--file', file, '-C', home], null)
  } finally {
    lock.release()
  }
  note(`${file} is in ${home}; start the server, then \`holdfast audit verify\` tells whether the audit is whole`)
}

/** As it is at this moment, with what is still in its log. */
async function copyDatabase(from: string, to: string): Promise<void> {
  const { DatabaseSync } = await import('node:sqlite')
  const database = new DatabaseSync(from, { readOnly: true })
  try {
    database.prepare('VACUUM INTO ?').run(to)
  } finally {
    database.close()
  }
}

/** Whether a file changed meanwhile. */
async function tar(args: readonly string[], output: number | null): Promise<boolean> {
  const child = spawn('tar', args, { stdio: ['ignore', output ?? 'ignore', 'pipe'] })
  let complaint = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (complaint = (complaint + text).slice(-2000)))
  const [code]: unknown[] = await once(child, 'close')
  if (code !== 0 && code !== TAR_CHANGED) throw new HoldfastError('invalid_request', `tar failed: ${complaint.trim()}`)
  return code === TAR_CHANGED
}
