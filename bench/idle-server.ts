/**
 * The real server in its own process, started as `npm run up` starts it, doing nothing.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { bundle } from '../scripts/bundle.mjs'
import type { Place } from './ground.ts'
import { residentBytes } from './process-status.ts'

const ROOT = join(import.meta.dirname, '..')
const IDLE_MS = 2_000

/** Resident bytes after it has been ready and idle for a while. */
export async function idleServerBytes({ under, needs }: Place): Promise<number> {
  const flags = ['up', '--port', '0', '--backend', under.kind, '--home', join(needs.stateDir, 'server')]
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', join(ROOT, await bundle(ROOT)), ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...withoutHoldfast(process.env), ...engineVariables(under.settings) },
  })
  const ended = once(child, 'close')
  const complaint = text(child.stderr)
  const endedEarly = async () => {
    await ended
    throw new Error(`the server ended before it was ready: ${await complaint}`)
  }
  try {
    await Promise.race([ready(child.stdout), endedEarly()])
    await delay(IDLE_MS)
    return residentBytes(child.pid ?? 0)
  } finally {
    child.kill('SIGTERM')
    await ended
  }
}

/** Reads on to the end, so that the server can always print. */
function ready(stdout: NodeJS.ReadableStream): Promise<void> {
  return new Promise((resolve) => {
    createInterface({ input: stdout }).on('line', (line) => {
      if (line.startsWith('holdfast is ready')) resolve()
    })
  })
}

function withoutHoldfast(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('HOLDFAST_')))
}

function engineVariables({ dockerSocket, podmanSocket }: Place['under']['settings']): NodeJS.ProcessEnv {
  return {
    ...(dockerSocket === undefined ? {} : { HOLDFAST_DOCKER_HOST: `unix://${dockerSocket}` }),
    ...(podmanSocket === undefined ? {} : { HOLDFAST_PODMAN_HOST: `unix://${podmanSocket}` }),
  }
}
