/**
 * The state directory of one sandbox: what must survive the server, in `<stateDir>/sandboxes/<name>/`.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * `sandbox.json` (what it is, which cgroups it uses) appears together with the directory, before anything is started.
 * `processes` is written by the launcher, a line before each process may run. `run/guest.sock` is the guest's socket.
 * So whatever dies at whichever moment, everything of a sandbox can be found by its name.
 */
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import { z } from 'zod'
import { assertSandboxName, isSandboxName } from '../../sandbox-name.ts'
import { hasErrorCode } from '../../../home/error-code.ts'
import { removeTree } from '../../../home/remove-tree.ts'
import type { ProcessIdentity } from './process-identity.ts'

const MAKING_PREFIX = '.making-'
const UNFINISHED_AFTER_MS = 60_000

const SandboxRecord = z.object({
  version: z.literal(1),
  kind: z.string(),
  serverId: z.string(),
  /** Absolute directories, made by the launcher after this record. */
  cgroups: z.array(z.string().startsWith('/')),
})
export type SandboxRecord = z.output<typeof SandboxRecord>

export interface RecordedProcess extends ProcessIdentity {
  readonly role: string
}

export interface SandboxState {
  readonly record: SandboxRecord
  readonly processes: readonly RecordedProcess[]
}

/** Paths of one sandbox; refuses a name that is not one, because the name becomes part of paths and is removed recursively. */
export function sandboxPaths(stateDir: string, name: string) {
  assertSandboxName(name)
  const parent = join(stateDir, 'sandboxes')
  const directory = join(parent, name)
  return { parent, directory, making: join(parent, `${MAKING_PREFIX}${name}`), runDirectory: join(directory, 'run') }
}

/** Appears whole or not at all. Refuses a name that is taken. */
export async function createStateDirectory(stateDir: string, name: string, record: SandboxRecord): Promise<void> {
  const { directory, making } = sandboxPaths(stateDir, name)
  await rm(making, { recursive: true, force: true })
  await mkdir(join(making, 'run'), { recursive: true, mode: 0o700 })
  await writeFile(join(making, 'sandbox.json'), JSON.stringify(record), { mode: 0o600 })
  try {
    await rename(making, directory)
  } catch (error) {
    await rm(making, { recursive: true, force: true })
    throw new HoldfastError('invalid_request', `a sandbox named ${name} exists already`, { name }, { cause: error })
  }
}

/** `null` when there is none, or none that this program wrote. */
export async function readState(stateDir: string, name: string): Promise<SandboxState | null> {
  const { directory } = sandboxPaths(stateDir, name)
  const text = await readIfPresent(join(directory, 'sandbox.json'))
  if (text === null) return null
  const record = SandboxRecord.safeParse(parseJson(text))
  if (!record.success) return null
  return { record: record.data, processes: parseProcesses((await readIfPresent(join(directory, 'processes'))) ?? '') }
}

/** Directories that a killed server left before they were renamed into place, or amid their removal. Nothing runs in them. */
export async function sweepUnfinished(stateDir: string, nowMs: number): Promise<void> {
  const parent = join(stateDir, 'sandboxes')
  await mkdir(parent, { recursive: true, mode: 0o700 })
  for (const entry of await readdir(parent)) {
    if (!entry.startsWith(MAKING_PREFIX)) continue
    const path = join(parent, entry)
    const status = await stat(path).catch(() => null)
    if (status !== null && nowMs - status.mtimeMs > UNFINISHED_AFTER_MS) await removeTree(path)
  }
}

export async function listNames(stateDir: string): Promise<readonly string[]> {
  try {
    return (await readdir(join(stateDir, 'sandboxes'))).filter(isSandboxName)
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT', 'ENOTDIR')) return []
    throw error
  }
}

/** The last step of a destroy. */
export async function removeStateDirectory(stateDir: string, name: string): Promise<void> {
  const { directory, making } = sandboxPaths(stateDir, name)
  await removeTree(making)
  // Out of sight in one step: a crash amid the removal must not leave a name without the record that `list` goes by.
  await rename(directory, making).catch((error: unknown) => {
    if (!hasErrorCode(error, 'ENOENT')) throw error
  })
  // A writable root is filled by programs of the sandbox: with trees that are deeper than any path.
  await removeTree(making)
}

/** Lines of `role pid starttime`; a line that is not whole was never acted upon. */
export function parseProcesses(text: string): readonly RecordedProcess[] {
  return [...text.matchAll(/^([a-z]+) ([1-9]\d{0,9}) ([1-9]\d{0,15})\n/gm)].map(([, role = '', pid, starttime]) => ({
    role,
    pid: Number(pid),
    starttime: Number(starttime),
  }))
}

async function readIfPresent(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT', 'ENOTDIR')) return null
    throw error
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // A file that is not ours; the caller treats it as no record.
    return null
  }
}
