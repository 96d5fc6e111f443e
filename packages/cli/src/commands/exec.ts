/** `holdfast exec`: one command in a session of the running server, over its API; streamed, with the command's exit code. */
import { text } from 'node:stream/consumers'
import { ERRORS, ExecExitEvent, ExecOutputEvent, HoldfastError } from '@holdfast/protocol'
import type { ExecBodyInput, Problem } from '@holdfast/protocol'
import { loadConfig, readAdminKey } from '@holdfast/server'
import { clientEnvironment } from '../config.ts'
import { serverEvents } from '../event-stream.ts'
import { EXIT_OWN_FAILURE, exitCodeOf } from '../exit-code.ts'
import { parseEnvironment, parseTimeoutMs } from '../sandbox-run/arguments.ts'

export interface ExecOptions {
  readonly session: string
  readonly command?: string
  readonly timeout?: string
  readonly env?: readonly string[]
  readonly workdir?: string
  readonly url?: string
}

export async function exec(argv: readonly string[], options: ExecOptions): Promise<void> {
  const body = await requestBody(argv, options)
  const left = new AbortController()
  // The server kills the command when its caller hangs up.
  process.once('SIGINT', () => left.abort(130))
  process.once('SIGTERM', () => left.abort(143))
  try {
    process.exitCode = await follow(await send(body, options, left.signal))
  } catch (error) {
    if (!left.signal.aborted) throw error
    process.exitCode = Number(left.signal.reason)
  }
}

async function requestBody(argv: readonly string[], options: ExecOptions): Promise<ExecBodyInput> {
  if ((argv.length === 0) === (options.command === undefined)) {
    throw new HoldfastError('invalid_request', 'give either a program after -- or a command line with --command')
  }
  return {
    session: options.session,
    ...(options.command === undefined ? { argv: [...argv] } : { command: options.command }),
    ...(options.workdir === undefined ? {} : { cwd: options.workdir }),
    ...(options.env === undefined ? {} : { env: parseEnvironment(options.env) }),
    ...(options.timeout === undefined ? {} : { timeout_ms: parseTimeoutMs(options.timeout) }),
    ...(process.stdin.isTTY ? {} : { stdin: await readStdin() }),
  }
}

function readStdin(): Promise<string> {
  return text(process.stdin)
}

async function send(body: ExecBodyInput, options: ExecOptions, signal: AbortSignal): Promise<Response> {
  const config = loadConfig()
  const environment = clientEnvironment()
  const url = options.url ?? environment.url ?? `http://${config.host}:${config.port}`
  const key = environment.apiKey ?? readAdminKey(config.home)
  const headers = {
    'content-type': 'application/json',
    accept: 'text/event-stream',
    ...(key === null ? {} : { authorization: `Bearer ${key}` }),
  }
  try {
    return await fetch(new URL('/v1/exec', url), { method: 'POST', headers, body: JSON.stringify(body), signal })
  } catch (cause) {
    throw new HoldfastError('server_unreachable', `no server answers at ${url}; start one with \`holdfast up\``, { url }, { cause })
  }
}

async function follow(response: Response): Promise<number> {
  if (!response.ok || response.body === null) throw problemError(await response.text())
  for await (const { event, data } of serverEvents(response.body)) {
    if (event === 'stdout') process.stdout.write(ExecOutputEvent.parse(JSON.parse(data)).data)
    if (event === 'stderr') process.stderr.write(ExecOutputEvent.parse(JSON.parse(data)).data)
    if (event === 'error') throw problemError(data)
    if (event === 'exit') return endOf(ExecExitEvent.parse(JSON.parse(data)))
  }
  throw new HoldfastError('server_unreachable', 'the server ended the stream before it said how the command ended')
}

function endOf(exit: ExecExitEvent): number {
  if (exit.session.notice !== undefined) process.stderr.write(`holdfast: ${exit.session.notice}\n`)
  if (exit.status === 'lost') process.stderr.write('holdfast: contact with the sandbox was lost; how the command ended is not known\n')
  if (exit.status === 'lost') return EXIT_OWN_FAILURE
  return exitCodeOf({ exitCode: exit.exit_code, signal: exit.signal, timedOut: exit.status === 'timed_out' })
}

/** The server's own sentence and code; something that is no problem document is a server that is not ours. */
function problemError(body: string): HoldfastError {
  try {
    const problem: unknown = JSON.parse(body)
    if (isProblem(problem)) return new HoldfastError(problem.code, problem.title, problem.details)
  } catch {
    // Not JSON: told below.
  }
  return new HoldfastError('server_unreachable', `the server answered with something that is not Holdfast’s: ${body.slice(0, 100)}`)
}

function isProblem(value: unknown): value is Pick<Problem, 'code' | 'title' | 'details'> {
  if (typeof value !== 'object' || value === null || !('code' in value) || !('title' in value) || !('details' in value)) return false
  const { code, title, details } = value
  return typeof code === 'string' && Object.hasOwn(ERRORS, code) && typeof title === 'string' && typeof details === 'object'
}
