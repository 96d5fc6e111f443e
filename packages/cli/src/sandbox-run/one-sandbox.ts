/**
 * One sandbox for one command: made from checked flags, destroyed whatever happens.
 *
 * It uses no server: its state lies in `<home>/cli`, and every run has a server id of its own, so that neither a server on
 * the same home nor another run at the same moment sees, sweeps or shares anything of it.
 */
import { join } from 'node:path'
import {
  checkMounts,
  chooseBackend,
  createBackendRegistry,
  launchSandbox,
  makePrivateDirectory,
  randomId,
  sandboxPolicy,
  sandboxUserOnHost,
} from '@holdfast/server'
import type { BackendRegistry, Config, LiveSandbox } from '@holdfast/server'
import { startSpinner } from '../spinner.ts'
import type { MountWish } from './arguments.ts'
import { runRecords } from './run-records.ts'
import type { Run, RunRecords } from './run-records.ts'

export interface SandboxRequest {
  readonly config: Config
  /** `undefined` when none was named, so that only container backends get the default one. */
  readonly image: string | undefined
  readonly mounts: readonly MountWish[]
}

/** Makes the sandbox, hands it to `use`, and destroys it. */
export async function withOneSandbox<T>(
  request: SandboxRequest,
  signal: AbortSignal,
  use: (sandbox: LiveSandbox) => Promise<T>,
): Promise<T> {
  const { config } = request
  const user = sandboxUserOnHost()
  // The person at the keyboard may mount what they name; the blocked paths stay blocked.
  const allowedRoots = request.mounts.map(({ source }) => source)
  const mounts = await checkMounts(request.mounts, { allowedRoots, stateDir: config.home, sandboxUid: user.uid, sandboxGid: user.gid })

  makePrivateDirectory(config.home)
  makePrivateDirectory(join(config.home, 'cli'))
  const records = runRecords(join(config.home, 'cli', 'runs'))
  const registryOf = (run: Run) =>
    createBackendRegistry(
      { serverId: run.serverId, stateDir: run.stateDir, guestPath: config.guestPath, launcherPath: config.launcherPath },
      config,
    )
  const spinner = startSpinner('making a sandbox')
  await removeLeftRuns(records, registryOf)
  const run = records.open(randomId('sbx'))
  const registry = registryOf(run)
  let isLeft = false
  try {
    const { backend, capabilities } = await chooseBackend(registry.open, {
      kind: config.backend,
      image: request.image ?? config.image,
      isImageNamed: request.image !== undefined,
      onProgress: spinner.say,
    })
    records.setBackend(run, backend.kind)
    const policy = sandboxPolicy({ image: config.image, network: config.network, limits: config.limits, hasImages: capabilities.images })
    const spec = policy.specFor({ image: request.image }, mounts)
    const sandbox = await launchSandbox(backend, run.name, spec, signal, spinner.say)
    isLeft = true
    spinner.stop()
    try {
      return await use(sandbox)
    } finally {
      await sandbox.destroy()
      isLeft = false
    }
  } finally {
    spinner.stop()
    await registry.close()
    // Should the removal have failed, the next run finds this record and tries again.
    if (!isLeft) records.remove(run)
  }
}

async function removeLeftRuns(records: RunRecords, registryOf: (run: Run) => BackendRegistry): Promise<void> {
  for (const run of records.left()) {
    const registry = registryOf(run)
    try {
      if (run.kind !== null) await (await registry.open(run.kind)).destroy(run.name)
      records.remove(run)
    } catch {
      // Its engine may be down today; the record stays, and a later run tries again.
    } finally {
      await registry.close()
    }
  }
}
