/**
 * A server as a person starts it, `holdfast up` in a process of its own, and this program beside it as a person uses it.
 */
import { spawn } from 'node:child_process'
import type { ChildProcess, ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { Holdfast } from '@holdfast/sdk'
import { PROGRAM } from '../../../../test/environment/holdfast-program.ts'

export interface Ran {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
  readonly bytes: Buffer
}

export interface RealServer {
  readonly home: string
  readonly url: string
  /** Everything that `up` said. */
  readonly said: () => string
  readonly process: ChildProcess
  readonly environment: NodeJS.ProcessEnv
  /** Runs this program to its end. */
  holdfast(args: readonly string[], input?: string | Uint8Array, environment?: NodeJS.ProcessEnv): Promise<Ran>
  /** Starts it, to be spoken to. */
  start(args: readonly string[]): ChildProcess
  /** Ends it as Ctrl-C does, or in another way. */
  stop(signal?: NodeJS.Signals): Promise<number | null>
  /** On the same home and the same port. */
  again(): Promise<RealServer>
}

/** Starts the program with these arguments; tests of another account have their own way. */
export type StartUp = (argv: readonly string[], env: NodeJS.ProcessEnv) => ChildProcessByStdio<Writable | null, Readable, Readable>

const startHere: StartUp = (argv, env) => spawn(process.execPath, argv, { env, stdio: ['ignore', 'pipe', 'pipe'] })

export async function realServer(
  settings: NodeJS.ProcessEnv,
  startUp: StartUp = startHere,
  home = mkdtempSync(join(tmpdir(), 'holdfast-cli-')),
): Promise<RealServer> {
  return startOn(home, 0, settings, startUp)
}

/** With everything that runs in its sessions: a sandbox with work in it outlives its server. */
export async function removeServer(server: RealServer): Promise<void> {
  const client = new Holdfast({ url: server.url, apiKey: server.environment['HOLDFAST_API_KEY'] })
  for await (const { id } of client.sessions.list({ state: ['pending', 'idle', 'active'] })) await (await client.sessions.get(id)).cancel()
  await server.stop()
  rmSync(server.home, { recursive: true, force: true })
}

/** What a test's own environment says about servers must not reach those under test. */
function withoutOurs(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !/^(HOLDFAST_|npm_|NO_COLOR|FORCE_COLOR)/.test(name)))
}

async function startOn(home: string, port: number, settings: NodeJS.ProcessEnv, startUp: StartUp): Promise<RealServer> {
  const base = {
    ...withoutOurs(process.env),
    // What is idle when it stops goes with it.
    HOLDFAST_SESSIONS_ON_STOP: 'suspend',
    ...settings,
    HOLDFAST_HOME: home,
  }
  const child = startUp([PROGRAM, 'up'], { ...base, HOLDFAST_PORT: String(port) })
  let said = ''
  const ready = Promise.withResolvers<string>()
  const hear = (text: string) => {
    said += text
    const [, url] = /(?:ready|listening) at (http:\S+)[^]*Ctrl-C stops/.exec(said) ?? []
    if (url !== undefined) ready.resolve(url)
  }
  child.stdout.setEncoding('utf8').on('data', hear)
  child.stderr.setEncoding('utf8').on('data', hear)
  child.once('exit', (code) => ready.reject(new Error(`the server ended with ${code}: ${said}`)))
  const url = await ready.promise
  const environment = { ...base, HOLDFAST_URL: url, HOLDFAST_API_KEY: readFileSync(join(home, 'admin.key'), 'utf8').trim() }
  const start = (args: readonly string[], more: NodeJS.ProcessEnv = {}) =>
    spawn(process.execPath, [PROGRAM, ...args], { env: { ...environment, ...more } })
  return {
    home,
    url,
    said: () => said,
    process: child,
    environment,
    start,
    async holdfast(args, input = '', more = {}) {
      const run = start(args, more)
      run.stdin.on('error', () => undefined)
      run.stdin.end(input)
      const [bytes, errors] = await Promise.all([buffer(run.stdout), buffer(run.stderr), once(run, 'close')])
      return { code: run.exitCode, stdout: bytes.toString('utf8'), stderr: errors.toString('utf8'), bytes }
    },
    async stop(signal = 'SIGINT') {
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
      const exited = once(child, 'exit')
      child.kill(signal)
      await exited
      return child.exitCode
    },
    again: () => startOn(home, Number(new URL(url).port), settings, startUp),
  }
}
