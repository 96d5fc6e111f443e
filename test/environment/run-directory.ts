/**
 * Directories that belong to one test run: everything private lives below, and whoever comes later can tell whether its owner still lives.
 *
 * The name holds the owner's pid and start time, so that a directory left by `kill -9` is recognised even when the pid is in use again.
 */
import { lstatSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'

const NAME = /^run-(\d+)-(\d+)-\w+$/

/** A fresh directory owned by this process. Short, because socket paths end at 107 bytes. */
export async function createRunDirectory(): Promise<string> {
  return mkdtemp(join(baseDirectory(), `run-${process.pid}-${startTime(process.pid) ?? '0'}-`))
}

/** Directories whose owner is gone. */
export function abandonedRunDirectories(): readonly string[] {
  const base = baseDirectory()
  return readdirSync(base)
    .filter((name) => {
      const match = NAME.exec(name)
      return match !== null && startTime(Number(match[1])) !== match[2]
    })
    .map((name) => join(base, name))
}

function baseDirectory(): string {
  const { uid } = userInfo()
  const path = join(tmpdir(), `holdfast-test-${uid}`)
  mkdirSync(path, { recursive: true, mode: 0o755 })
  const status = lstatSync(path)
  if (!status.isDirectory() || status.uid !== uid) throw new Error(`${path} is not a directory of ours; remove it`)
  return path
}

/** In clock ticks since boot: the 22nd field of `stat`, counted after the name, which may contain spaces. */
function startTime(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  } catch {
    return undefined // no such process
  }
}
