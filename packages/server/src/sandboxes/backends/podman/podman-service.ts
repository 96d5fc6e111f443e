/**
 * Podman's API service, started for hosts where none runs.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * Podman has no daemon: its service only answers questions, and containers live on without it. It listens in the state
 * directory and is stopped with the backend. One that a killed server left behind is found again and used.
 */
import { spawn, execFile, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { HoldfastError } from '@holdfast/protocol'
import { engineClient, type EngineClient } from '../engine/engine-client.ts'
import { engineUnavailable } from '../engine/engine-facts.ts'
import { PodmanInfo } from './podman-facts.ts'
import { runtimeProblem } from './runtime-trial.ts'
import { forgetService, recordService, servicePath } from './service-record.ts'

export interface PodmanCommand {
  /** Default `podman`, looked up on the PATH. */
  readonly binary: string
  /** Before the subcommand: `--root`, `--runroot`, `--runtime`. */
  readonly args: readonly string[]
}

export interface PodmanService {
  readonly client: EngineClient
  stop(): Promise<void>
}

const MAX_INFO_BYTES = 1024 * 1024
const INFO_TIMEOUT_MS = 60_000
const START_TIMEOUT_MS = 60_000
const START_WAIT_MS = 20
const STOP_TIMEOUT_MS = 5_000
const MAX_COMPLAINT_BYTES = 4096
const MAX_COMPLAINT_CHARACTERS = 500

/** `podman info`, without any service. Throws `backend_unavailable` with the reason and the fix. */
export async function podmanInfo(command: PodmanCommand, signal: AbortSignal): Promise<PodmanInfo> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const options = { signal, timeout: INFO_TIMEOUT_MS, maxBuffer: MAX_INFO_BYTES }
  execFile(command.binary, [...command.args, 'info', '--format', 'json'], options, (error, stdout, stderr) => {
    if (error === null) resolve(stdout)
    else if (error.code === 'ENOENT') reject(engineUnavailable('Podman is not installed', 'sudo apt install podman', error))
    else
      reject(
        engineUnavailable(
          `Podman does not work here: ${complaintOf(stderr) || error.message}`,
          'run `podman info` and repair what it names',
          error,
        ),
      )
  })
  const parsed = PodmanInfo.safeParse(JSON.parse(await promise))
  if (parsed.success) return parsed.data
  throw engineUnavailable('`podman info` answers in an unknown shape', 'upgrade Podman to 4.0 or newer', parsed.error)
}

/** The arguments with a runtime that works here: as given, as configured, or `runc` in place of a runtime that fails its trial. */
export async function withWorkingRuntime(command: PodmanCommand, signal: AbortSignal): Promise<PodmanCommand> {
  if (command.args.some((argument) => argument.startsWith('--runtime'))) return command
  const { host } = await podmanInfo(command, signal)
  if (host.ociRuntime === undefined || (await runtimeProblem(host.ociRuntime.path)) === null) return command
  const replaced = { ...command, args: [...command.args, '--runtime', 'runc'] }
  const other = await podmanInfo(replaced, signal).catch(() => null)
  // Where runc does not work either, the configured runtime's own complaint is the better reason.
  return other?.host.ociRuntime !== undefined && (await runtimeProblem(other.host.ociRuntime.path)) === null ? replaced : command
}

/** `onExit` is called when the service ends for whatever reason, so that the next call starts another. */
export async function startPodmanService(command: PodmanCommand, stateDir: string, onExit: () => void): Promise<PodmanService> {
  const socket = servicePath(stateDir)
  await mkdir(stateDir, { recursive: true, mode: 0o700 })
  await rm(socket, { force: true })
  // A file and no pipe: the service outlives a killed server, and would die of a pipe that nobody reads.
  const log = await open(join(stateDir, 'podman-service.log'), 'w+', 0o600)
  try {
    // The kernel takes 107 bytes of socket path; through the working directory it is always short.
    const args = [...command.args, 'system', 'service', '--time=0', 'unix:///proc/self/cwd/podman.sock']
    const child = spawn(command.binary, args, { cwd: stateDir, detached: true, stdio: ['ignore', 'ignore', log.fd] })
    const exited = once(child, 'exit').catch(() => undefined)
    const client = engineClient('podman', { kind: 'unix', path: socket })
    try {
      await firstAnswer(client, child, AbortSignal.timeout(START_TIMEOUT_MS))
    } catch (error) {
      client.close()
      child.kill('SIGKILL')
      const { buffer, bytesRead } = await log.read(Buffer.alloc(MAX_COMPLAINT_BYTES), 0, MAX_COMPLAINT_BYTES, 0)
      const complaint = complaintOf(buffer.toString('utf8', 0, bytesRead)) || String(error)
      throw engineUnavailable(`Podman's service did not start: ${complaint}`, 'run `podman system service` and repair what it names', error)
    }
    if (child.pid !== undefined) await recordService(stateDir, child.pid)
    void exited.then(onExit)
    // A server may end without waiting for it.
    child.unref()
    return {
      client,
      async stop() {
        client.close()
        child.ref()
        child.kill('SIGTERM')
        const patience = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
        await exited
        clearTimeout(patience)
        await forgetService(stateDir)
      },
    }
  } finally {
    await log.close()
  }
}

async function firstAnswer(client: EngineClient, child: ChildProcess, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      await client.version(signal)
      return
    } catch (error) {
      signal.throwIfAborted()
      if (child.exitCode !== null || child.signalCode !== null || !(error instanceof HoldfastError)) throw error
    }
    await sleep(START_WAIT_MS, undefined, { signal })
  }
}

/** The last line is the one that says what went wrong. */
function complaintOf(stderr: string): string {
  return stderr.trim().split('\n').at(-1)?.slice(0, MAX_COMPLAINT_CHARACTERS) ?? ''
}
