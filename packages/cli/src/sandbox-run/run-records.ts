/**
 * Which `sandbox run` made what: one directory per run, with the sandbox's state and a line about its owner.
 *
 * A run that was killed with -9 cannot clean up; its directory stays, and the next run removes what it names. A process is
 * told from a later one with the same pid by its start time.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BACKEND_KINDS, makePrivateDirectory } from '@holdfast/server'
import type { BackendKind } from '@holdfast/server'

const OWNER_FILE = 'owner'

export interface Run {
  /** Of the run and of its sandbox. */
  readonly name: string
  /** Follows from the name, so that what a killed run made is found again. */
  readonly serverId: string
  readonly stateDir: string
}

export interface LeftRun extends Run {
  readonly kind: BackendKind | null
}

export interface RunRecords {
  open(name: string): Run
  /** To be called before anything is made with that backend. */
  setBackend(run: Run, kind: BackendKind): void
  remove(run: Run): void
  /** Runs whose process is gone. */
  left(): readonly LeftRun[]
}

export function runRecords(directory: string): RunRecords {
  makePrivateDirectory(directory)
  return {
    open(name) {
      const stateDir = join(directory, name)
      // Made under another name first, so that no run is ever seen without its owner.
      const draft = `${stateDir}.new`
      mkdirSync(draft, { mode: 0o700 })
      writeFileSync(join(draft, OWNER_FILE), ownerLine(''))
      renameSync(draft, stateDir)
      return { name, serverId: serverIdOf(name), stateDir }
    },
    setBackend: (run, kind) => writeFileSync(join(run.stateDir, OWNER_FILE), ownerLine(kind)),
    remove: (run) => rmSync(run.stateDir, { recursive: true, force: true }),
    left: () => readdirSync(directory).flatMap((name) => leftRun(directory, name)),
  }
}

function leftRun(directory: string, name: string): readonly LeftRun[] {
  const stateDir = join(directory, name)
  const [pid, ticks, kindText] = read(join(stateDir, OWNER_FILE)).trim().split(' ')
  if (pid === undefined || ticks === undefined || ticks === startTicks(Number(pid))) return []
  return [{ name, serverId: serverIdOf(name), stateDir, kind: BACKEND_KINDS.find((known) => known === kindText) ?? null }]
}

function serverIdOf(name: string): string {
  return name.replace(/^sbx_/, 'srv_')
}

function ownerLine(kind: BackendKind | ''): string {
  return `${process.pid} ${startTicks(process.pid)} ${kind}\n`
}

/** Field 22 of /proc/<pid>/stat; the name in field 2 may hold spaces and brackets, so count from its end. Empty when there is no such process. */
function startTicks(pid: number): string {
  const stat = read(`/proc/${pid}/stat`)
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''
}

/** A file that vanished meanwhile (another run cleaned up, a process ended) reads as empty. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
