/**
 * Whether an OCI runtime can start containers on this kernel, found out by asking it to.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * crun refuses hosts with hybrid cgroups, and nothing that Podman reports says so. The trial is a container whose
 * program does not exist: a runtime that works gets as far as missing it, and leaves nothing behind.
 */
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { isServerRoot } from '../../sandbox-user.ts'

const MISSING_PROGRAM = '/holdfast-trial'
/** Generous: a runtime that is slow on a busy machine is not a runtime that fails. */
const TRIAL_TIMEOUT_MS = 30_000

const TRIAL = {
  ociVersion: '1.0.0',
  process: { user: { uid: 0, gid: 0 }, args: [MISSING_PROGRAM], cwd: '/' },
  root: { path: 'rootfs', readonly: true },
  mounts: [
    { destination: '/proc', type: 'proc', source: 'proc' },
    { destination: '/dev', type: 'tmpfs', source: 'tmpfs' },
  ],
  linux: { namespaces: [{ type: 'pid' }, { type: 'mount' }, { type: 'ipc' }, { type: 'network' }] },
}

/** The runtime's own sentence, or `null` when it works or cannot be tried (only root can, without a namespace of its own). */
export async function runtimeProblem(path: string): Promise<string | null> {
  if (!isServerRoot() || !['crun', 'runc'].includes(basename(path))) return null
  const bundle = await mkdtemp(join(tmpdir(), 'holdfast-trial-'))
  try {
    await mkdir(join(bundle, 'rootfs'))
    await writeFile(join(bundle, 'config.json'), JSON.stringify(TRIAL))
    const said = await saidBy(path, ['--root', join(bundle, 'state'), 'run', '--bundle', bundle, `holdfast-trial-${randomUUID()}`])
    return said.includes(MISSING_PROGRAM) ? null : said.trim().slice(0, 300)
  } finally {
    await rm(bundle, { recursive: true, force: true })
  }
}

function saidBy(path: string, args: readonly string[]): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  execFile(path, args, { timeout: TRIAL_TIMEOUT_MS }, (error, _stdout, stderr) => resolve(stderr || (error?.message ?? '')))
  return promise
}
