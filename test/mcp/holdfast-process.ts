/**
 * `holdfast up` as an operator starts it: in a process of its own, on one backend, with a home of its own; to be asked, and to be killed.
 */
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect } from 'vitest'
import { processesOf } from '../../packages/server/src/sandboxes/contract/traces.ts'
import { PROGRAM } from '../environment/holdfast-program.ts'
import type { BackendUnderTest } from '../environment/machine.ts'
import { makePlace } from '../interop/box-server.ts'
import { endChild, startReady } from '../servers/holdfast-child.ts'
import type { ReadyChild } from '../servers/holdfast-child.ts'
import { untilHolds } from '../servers/eventually.ts'

/** Tests ask quicker than people. */
const OF_TESTS = { HOLDFAST_RATE_LIMITS_REQUESTS_PER_SECOND: 'none' }

export interface Asking {
  readonly method?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

export interface HoldfastProcess {
  readonly url: string
  readonly key: string
  readonly pid: number
  /** As the administrator. */
  ask(path: string, asking?: Asking): Promise<Response>
  /** The answer as JSON, whatever its status. */
  json(path: string, asking?: Asking): Promise<Record<string, unknown>>
  /** What runs of its sandboxes, and around them, on this machine. */
  sandboxProcesses(): readonly string[]
  /** `kill -9`. */
  die(): Promise<void>
  /** Another one at the same address, on the same home. */
  restart(): Promise<void>
  /** Ends its sessions and stops it; fails if a sandbox is left of them. */
  close(): Promise<void>
}

export async function startHoldfast(under: BackendUnderTest, settings: NodeJS.ProcessEnv = {}): Promise<HoldfastProcess> {
  const place = makePlace(under, { ...OF_TESTS, ...settings })
  let { child, url } = await launch(place.env, '0')
  // Where everybody is let in, there is none.
  const key = () => (settings['HOLDFAST_AUTH'] === 'none' ? '' : readFileSync(join(place.home, 'admin.key'), 'utf8').trim())
  const ask: HoldfastProcess['ask'] = (path, { method = 'GET', body, headers = {}, signal } = {}) =>
    fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${key()}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    })
  return {
    get url() {
      return url
    },
    get key() {
      return key()
    },
    get pid() {
      return child.pid ?? 0
    },
    ask,
    json: async (path, asking) => (await ask(path, asking)).json() as Promise<Record<string, unknown>>,
    sandboxProcesses: () =>
      processesOf(basename(join(place.home, '..')))
        .filter(({ pid }) => pid !== child.pid)
        .map(({ command }) => command.slice(0, 120)),
    die: () => endChild(child, 'SIGKILL'),
    async restart() {
      ;({ child, url } = await launch(place.env, new URL(url).port))
    },
    async close() {
      try {
        const { items } = (await (await ask('/v1/sessions')).json()) as { readonly items: readonly { readonly id: string }[] }
        for (const { id } of items) await ask(`/v1/sessions/${id}/cancel`, { method: 'POST', body: {} })
        await untilHolds(async () => expect(await place.sandboxes()).toEqual([]))
      } finally {
        await endChild(child, 'SIGTERM')
        await place.remove()
      }
    },
  }
}

function launch(env: NodeJS.ProcessEnv, port: string): Promise<ReadyChild> {
  return startReady(['--disable-warning=ExperimentalWarning', PROGRAM, 'up', '--port', port], env)
}
