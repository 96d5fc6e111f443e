/**
 * LangBot's own Box client, from PyPI, in a virtual environment.
 *
 * Made once per machine and version, and kept in the user's cache. Where there is no Python or no PyPI, there is a reason to skip.
 */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import type { Socket } from 'node:net'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findProgram } from '../environment/program.ts'

/** The last whose wire the door speaks: with contexts, and with skills. */
export const CURRENT_RELEASE = 'langbot-plugin==0.5.5'
/** The last without contexts and headers. */
export const OLDER_RELEASE = 'langbot-plugin==0.4.17'
/** Another wire: it has no skills, and forbids fields that were there. What both have in common is tried. */
export const NEWEST_RELEASE = 'langbot-plugin==0.7.18'

const INSTALL_LIMIT_MS = 300_000
const PIP_OPTIONS = ['--quiet', '--disable-pip-version-check', '--no-input', '--timeout', '15', '--retries', '1']

export type PublishedClient = { readonly python: string; readonly skipReason: null } | { readonly skipReason: string }

/** `HOLDFAST_REQUIRE_INTEROP=1`: its absence is a failure. */
export async function publishedClient(release: string): Promise<PublishedClient> {
  try {
    return { python: join(await environmentOf(release), 'bin', 'python3'), skipReason: null }
  } catch (error) {
    if (process.env.HOLDFAST_REQUIRE_INTEROP === '1') throw error
    return { skipReason: `it cannot be installed: ${firstLines(error)}` }
  }
}

/** For the name of a suite. */
export function clientBecause({ skipReason }: PublishedClient): string {
  return skipReason === null ? '' : ` (skipped: ${skipReason})`
}

async function environmentOf(release: string): Promise<string> {
  const directory = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'holdfast', 'interop')
  const path = join(directory, release)
  if (existsSync(path)) return path
  mkdirSync(directory, { recursive: true })
  const endTurn = await takeTurn(release)
  try {
    if (!existsSync(path)) await make(release, path)
    return path
  } finally {
    endTurn()
  }
}

async function make(release: string, path: string): Promise<void> {
  const python = findProgram('python3')
  if (python === null) throw new Error('there is no python3')
  const temporary = `${path}.${process.pid}`
  const options = { timeout: INSTALL_LIMIT_MS }
  try {
    await promisify(execFile)(python, ['-m', 'venv', temporary], options)
    await promisify(execFile)(join(temporary, 'bin', 'python3'), ['-m', 'pip', 'install', ...PIP_OPTIONS, release], options)
    renameSync(temporary, path)
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}

/** Test files run side by side; one of them installs. The name is free again when its owner is gone, however it went. */
async function takeTurn(release: string): Promise<() => void> {
  const name = `\0holdfast-interop-${process.getuid?.() ?? 0}-${release}`
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
