/**
 * Ends and removes everything that lives in a run directory, judged by the directory alone: so it works at the end of a run, and as well
 * for what a killed run left behind.
 */
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { removeTree as removeFilledTree } from '../../packages/server/src/home/remove-tree.ts'
import { engineAnswers, removeEveryContainer } from './engine-api.ts'
import { removeBridges } from './private-bridge.ts'
import { run } from './program.ts'
import { abandonedRunDirectories } from './run-directory.ts'

/** Only these are ever killed, so that somebody's editor or shell in the directory is safe. */
const OUR_PROGRAMS = /^(dockerd|containerd|containerd-shim.*|runc|podman|conmon|slirp4netns|rootlessport|postgres)$/
const GRACE_MS = 8_000
const POLL_MS = 50

/** What killed runs left behind. */
export async function cleanUpAbandoned(): Promise<void> {
  for (const directory of abandonedRunDirectories()) await cleanUp(directory)
}

/** Safe to call twice, and on a directory that is only half filled. */
export async function cleanUp(directory: string): Promise<void> {
  for (const name of ['docker.sock', 'podman.sock']) await removeContainersOf(join(directory, name))
  await endProcesses(directory)
  for (const mountPoint of mountPointsBelow(directory)) await unmount(mountPoint)
  await removeBridges(directory)
  await removeTree(directory)
}

/** What a rootless engine unpacked belongs to its subordinate users; only inside its user namespace may it be removed. */
async function removeTree(directory: string): Promise<void> {
  try {
    await removeFilledTree(directory)
  } catch (error) {
    if (process.getuid?.() === 0) throw error
    await run('podman', ['unshare', 'rm', '-rf', directory])
  }
}

async function removeContainersOf(socketPath: string): Promise<void> {
  if (existsSync(socketPath) && (await engineAnswers(socketPath))) await removeEveryContainer(socketPath)
}

async function endProcesses(directory: string): Promise<void> {
  for (const isPatient of [true, false]) {
    for (const pid of processesOf(directory)) kill(pid, isPatient ? gentleSignal(pid) : 'SIGKILL')
    const deadlineMs = performance.now() + GRACE_MS
    while (processesOf(directory).length > 0 && performance.now() < deadlineMs) await delay(POLL_MS)
  }
}

/** On SIGTERM PostgreSQL would wait for its clients to leave. */
function gentleSignal(pid: number): NodeJS.Signals {
  return readProc(pid, 'comm').trim() === 'postgres' ? 'SIGINT' : 'SIGTERM'
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error // it ended by itself: fine
  }
}

function processesOf(directory: string): readonly number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map(Number).filter((pid) => isDaemonOf(pid, directory) || isContainerOf(pid, directory))
}

function isDaemonOf(pid: number, directory: string): boolean {
  const [program = '', ...args] = readProc(pid, 'cmdline').split('\0')
  return OUR_PROGRAMS.test(basename(program)) && args.some((arg) => arg.includes(`${directory}/`))
}

/** A container whose engine is gone: its root file system lies in the directory. */
function isContainerOf(pid: number, directory: string): boolean {
  if (mountNamespace(pid) === mountNamespace(process.pid)) return false
  const rootMount = readProc(pid, 'mountinfo')
    .split('\n')
    .find((line) => line.split(' ')[4] === '/')
  return rootMount?.includes(`${directory}/`) ?? false
}

function mountNamespace(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/ns/mnt`)
  } catch {
    return null // it ended, or is not ours to look at
  }
}

function readProc(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    return '' // it ended between listing and reading
  }
}

async function unmount(mountPoint: string): Promise<void> {
  try {
    await run('umount', ['-l', mountPoint])
  } catch (error) {
    if (mountPointsBelow(dirname(mountPoint)).includes(mountPoint)) throw error // else another run cleaned up at the same time
  }
}

/** Innermost first. */
function mountPointsBelow(directory: string): readonly string[] {
  const lines = readProc(process.pid, 'mountinfo').split('\n')
  const mountPoints = lines.map((line) => line.split(' ')[4] ?? '')
  return mountPoints.filter((path) => path.startsWith(`${directory}/`)).toReversed()
}
