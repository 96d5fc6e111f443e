/**
 * The real server in its own process, started as `npm run up` starts it, with a home of its own.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { bundle } from '../scripts/bundle.mjs'
import type { BackendUnderTest } from '../test/environment/machine.ts'

const ROOT = join(import.meta.dirname, '..')
/** Sandboxes are nobody's once their server is gone; and what is measured is not a rate limit. */
const OF_BENCH = { HOLDFAST_SESSIONS_ON_STOP: 'suspend', HOLDFAST_RATE_LIMITS_REQUESTS_PER_SECOND: 'none' }
/** Of its log, when it does not come up. */
const SHOWN_LINES = 20

/** What a server needs of a place: its backend, and where its home may lie. */
export interface ServerPlace {
  readonly under: BackendUnderTest
  readonly needs: { readonly stateDir: string }
}

export interface ServerProcess {
  readonly pid: number
  readonly port: number
  readonly key: string
  readonly home: string
}

export interface ServerOptions {
  /** `HOLDFAST_*` settings beyond those of the place. */
  readonly settings?: NodeJS.ProcessEnv
  /** Puts something into its home before it starts. */
  readonly prepare?: (home: string) => Promise<void>
  /** Is given each line of its log. */
  readonly onLog?: (line: string) => void
}

/** Lends a server to the work; ends it with its sandboxes, and removes its home. */
export async function withServer<T>(
  { under, needs }: ServerPlace,
  { settings = {}, prepare = async () => undefined, onLog = () => undefined }: ServerOptions,
  work: (server: ServerProcess) => Promise<T>,
): Promise<T> {
  const home = mkdtempSync(join(needs.stateDir, 'server-'))
  await prepare(home)
  const flags = ['up', '--port', '0', '--backend', under.kind, '--home', home]
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', join(ROOT, await bundle(ROOT)), ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...withoutHoldfast(process.env), ...engineVariables(under.settings), ...OF_BENCH, ...settings },
  })
  const ended = once(child, 'close')
  const complaint: string[] = []
  createInterface({ input: child.stderr }).on('line', (line) => {
    onLog(line)
    complaint.push(line)
    if (complaint.length > SHOWN_LINES) complaint.shift()
  })
  const endedEarly = async () => {
    await ended
    throw new Error(`the server ended before it was ready: ${complaint.join('\n')}`)
  }
  try {
    const port = await Promise.race([portOf(child.stdout), endedEarly()])
    return await work({ pid: child.pid ?? 0, port, key: readFileSync(join(home, 'admin.key'), 'utf8').trim(), home })
  } finally {
    child.kill('SIGTERM')
    await ended
    rmSync(home, { recursive: true, force: true })
  }
}

/** Reads on to the end, so that the server can always print. */
function portOf(stdout: NodeJS.ReadableStream): Promise<number> {
  return new Promise((resolve) => {
    createInterface({ input: stdout }).on('line', (line) => {
      const address = /^holdfast is ready at http:\S+:(\d+)/.exec(line)
      if (address !== null) resolve(Number(address[1]))
    })
  })
}

function withoutHoldfast(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('HOLDFAST_')))
}

function engineVariables({ dockerSocket, podmanSocket, image }: BackendUnderTest['settings']): NodeJS.ProcessEnv {
  return {
    ...(dockerSocket === undefined ? {} : { HOLDFAST_DOCKER_HOST: `unix://${dockerSocket}` }),
    ...(podmanSocket === undefined ? {} : { HOLDFAST_PODMAN_HOST: `unix://${podmanSocket}` }),
    ...(image === undefined ? {} : { HOLDFAST_IMAGE: image }),
  }
}
