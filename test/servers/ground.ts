/**
 * Where servers are tried: one directory, a home for each server, a clock of its own, and nothing left at the end.
 */
import { copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { openBackend } from '../chaos/open-backend.ts'
import { openHome } from '../../packages/server/src/home/home.ts'
import type { SandboxBackend } from '../../packages/server/src/sandboxes/backend.ts'
import type { OpenBackend } from '../../packages/server/src/sandboxes/choose.ts'
import { cgroupsNamed, mountsOf, processesOf } from '../../packages/server/src/sandboxes/contract/traces.ts'
import type { Store } from '../../packages/server/src/store/store.ts'
import type { BackendUnderTest } from '../environment/machine.ts'
import { openTestServer } from './test-server.ts'
import type { ServerPlan, TestServer } from './test-server.ts'

const BUILT = fileURLToPath(new URL('../../guest/build/', import.meta.url))

export interface Clock {
  (): number
  /** Everybody's watch goes on by so much. */
  pass(ms: number): void
  /** From here on time only passes when it is told to. */
  stop(): void
}

export interface Ground {
  readonly clock: Clock
  /** What `start` and a child process are told. The same name is the same home. */
  plan(name: string, settings?: Readonly<Record<string, string>>): ServerPlan
  /** Closed with the ground, if not before. */
  start(
    name?: string,
    settings?: Readonly<Record<string, string>>,
    changed?: (open: OpenBackend) => OpenBackend,
    mcpRetryMs?: readonly number[],
    storeOf?: (store: Store) => Store,
  ): Promise<TestServer>
  /** The names of the sandboxes of one home, whoever runs it. */
  sandboxesOf(name: string): Promise<readonly string[]>
  /** Processes on the host that see anything of this ground: those inside its sandboxes, and those around them. */
  processes(): readonly { readonly pid: number; readonly command: string }[]
  /** Ends every server, destroys every sandbox, and fails if anything is left on the host. */
  close(): Promise<void>
}

/** `storeUrl`: the database that all servers of this ground share; without one each home has its own. */
export function openGround(under: BackendUnderTest, storeUrl: string | null = null): Ground {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-ground-')))
  const marker = basename(directory)
  // A copy of its own makes every process of this ground recognisable by its mounts.
  // In a directory of its own: nothing in or above it may be mounted.
  mkdirSync(join(directory, 'programs'))
  const guestPath = join(directory, 'programs', 'guest')
  copyFileSync(join(BUILT, 'holdfast-guest'), guestPath)
  const servers: TestServer[] = []
  const names = new Set<string>()
  let passedMs = 0
  let stoppedAt: number | null = null
  const clock = Object.assign(() => (stoppedAt ?? Date.now()) + passedMs, {
    pass: (ms: number) => void (passedMs += ms),
    stop: () => void (stoppedAt ??= Date.now()),
  })

  const plan: Ground['plan'] = (name, settings = {}) => {
    names.add(name)
    const place = join(directory, name)
    mkdirSync(place, { recursive: true, mode: 0o700 })
    return { under, directory: place, guestPath, storeUrl, url: `http://${name}.test`, settings }
  }
  const homeOf = (name: string) => openHome(join(plan(name).directory, 'home'))
  const backendOf = (name: string): SandboxBackend => {
    const { serverId, stateDir } = homeOf(name)
    return openBackend(under, { serverId, stateDir, guestPath, launcherPath: join(BUILT, 'holdfast-launcher') })
  }

  return {
    clock,
    plan,
    async start(name = 'one', settings = {}, changed = (open) => open, mcpRetryMs, storeOf) {
      const server = await openTestServer(plan(name, settings), clock, changed, mcpRetryMs, storeOf)
      servers.push(server)
      return server
    },
    sandboxesOf: async (name) => (await backendOf(name).list()).map((status) => status.name).toSorted(),
    processes: () => processesOf(marker),
    async close() {
      for (const server of servers) await server.close()
      const serverIds = [...names].map((name) => homeOf(name).serverId)
      for (const name of names) {
        const backend = backendOf(name)
        for (const { name: sandbox } of await backend.list()) await backend.destroy(sandbox)
        expect(await backend.list()).toEqual([])
      }
      const left = [...processesOf(marker).map(({ command }) => command), ...mountsOf(marker), ...serverIds.flatMap(cgroupsNamed)]
      expect(left, 'left behind').toEqual([])
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
