/**
 * Which Podman service a server started, kept so that the next server can end one that a killed server left behind.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { kill, pid as ownPid } from 'node:process'
import { hasErrorCode } from '../../../home/error-code.ts'

export function servicePath(stateDir: string): string {
  return join(stateDir, 'podman.sock')
}

const recordPath = (stateDir: string): string => join(stateDir, 'podman-service.pid')

export async function recordService(stateDir: string, servicePid: number): Promise<void> {
  await writeFile(recordPath(stateDir), `${servicePid} ${ownPid}\n`, { mode: 0o600 })
}

export async function forgetService(stateDir: string): Promise<void> {
  await rm(servicePath(stateDir), { force: true })
  await rm(recordPath(stateDir), { force: true })
}

/** Ends a recorded service whose server is dead; one that has a living server is that server's. */
export async function stopOrphanedService(stateDir: string): Promise<void> {
  const record = await readFile(recordPath(stateDir), 'utf8').catch(() => '')
  const [servicePid, serverPid] = record.split(' ').map(Number)
  if (!servicePid || !serverPid || isAlive(serverPid)) return
  // The number may have gone to another process since.
  const commandLine = await readFile(`/proc/${servicePid}/cmdline`, 'utf8').catch(() => '')
  if (commandLine.includes('system\0service')) kill(servicePid, 'SIGTERM')
  await forgetService(stateDir)
}

function isAlive(pid: number): boolean {
  try {
    return kill(pid, 0)
  } catch (error) {
    // Somebody else's process is alive all the same.
    return hasErrorCode(error, 'EPERM')
  }
}
