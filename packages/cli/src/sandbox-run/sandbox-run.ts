/** `holdfast sandbox run`: create, run, stream, remove; the command's exit code. */
import { checkExecRequest, loadConfig, parseBackendWish } from '@holdfast/server'
import type { ConfigFlags, ExecRequest, LiveSandbox } from '@holdfast/server'
import { EXIT_OWN_FAILURE, exitCodeOf } from '../exit-code.ts'
import { parseEnvironment, parseMount, parseTimeoutMs } from './arguments.ts'
import { withOneSandbox } from './one-sandbox.ts'
import { relay, terminalSize } from './relay.ts'

export interface SandboxRunOptions {
  readonly backend?: string
  readonly image?: string
  readonly mount?: readonly string[]
  readonly network?: string
  readonly memory?: string
  readonly cpus?: string
  readonly pids?: string
  readonly timeout?: string
  readonly env?: readonly string[]
  readonly workdir?: string
  readonly interactive?: true
  readonly tty?: true
}

export async function sandboxRun(argv: readonly string[], options: SandboxRunOptions): Promise<number> {
  // Everything is checked before anything is made.
  if (options.backend !== undefined) parseBackendWish(options.backend)
  const config = loadConfig(configFlags(options))
  const mounts = (options.mount ?? []).map(parseMount)
  const isTerminal = options.tty === true
  const passStdin = options.interactive === true || isTerminal || !process.stdin.isTTY
  const request = execRequest(argv, options, passStdin)
  const size = isTerminal ? terminalSize() : null
  checkExecRequest(request)

  const interrupted = new AbortController()
  const stop = interruptedBy(interrupted)
  return withOneSandbox({ config, image: options.image, mounts }, interrupted.signal, async (sandbox: LiveSandbox) => {
    stop.release()
    const { stdin: _, ...terminalRequest } = request
    const execution = size === null ? await sandbox.inside.exec(request) : await sandbox.inside.pty({ ...terminalRequest, size })
    return exitCodeOf(await relay(execution, { passStdin, isTerminal }))
  }).catch((error: unknown) => {
    if (!interrupted.signal.aborted) throw error
    return stop.exitCode
  })
}

function configFlags(options: SandboxRunOptions): ConfigFlags {
  const flags = {
    backend: options.backend,
    image: options.image,
    network: options.network,
    'limits.memory': options.memory,
    'limits.cpus': options.cpus,
    'limits.pids': options.pids,
  }
  return Object.fromEntries(Object.entries(flags).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))
}

function execRequest(argv: readonly string[], options: SandboxRunOptions, passStdin: boolean): ExecRequest {
  return {
    argv,
    env: parseEnvironment(options.env ?? []),
    stdin: passStdin ? 'pipe' : 'none',
    // Dies with us, also when we are killed without a chance to clean up.
    ephemeral: true,
    ...(options.workdir === undefined ? {} : { cwd: options.workdir }),
    ...(options.timeout === undefined ? {} : { timeoutMs: parseTimeoutMs(options.timeout) }),
  }
}

/** Until the command runs there is nobody to forward a signal to: it ends the making of the sandbox. */
function interruptedBy(interrupted: AbortController): { readonly exitCode: number; release(): void } {
  let exitCode = EXIT_OWN_FAILURE
  const onInterrupt = () => end('SIGINT')
  const onTerminate = () => end('SIGTERM')
  const end = (signal: 'SIGINT' | 'SIGTERM') => {
    exitCode = exitCodeOf({ exitCode: null, signal, timedOut: false })
    interrupted.abort()
  }
  process.on('SIGINT', onInterrupt)
  process.on('SIGTERM', onTerminate)
  return {
    get exitCode() {
      return exitCode
    },
    release() {
      process.off('SIGINT', onInterrupt)
      process.off('SIGTERM', onTerminate)
    },
  }
}
