/** Sessions on a ground: the whole plane behind the doors, over a new home with its own SQLite file. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { callerOf } from '../packages/server/src/access/authorize.ts'
import type { Principal } from '../packages/server/src/access/principal.ts'
import { loadConfig } from '../packages/server/src/config.ts'
import { openHome } from '../packages/server/src/home/home.ts'
import { openSessionPlane } from '../packages/server/src/session-plane.ts'
import { openStore } from '../packages/server/src/store/open-store.ts'
import { jsonLog } from '../packages/server/src/telemetry/log.ts'
import type { Ground } from './ground.ts'

const OWNER: Principal = {
  ...{ tenantId: 'tnt_default', subject: 'bench', groups: [], keyId: null, onBehalfOf: null },
  ...{ role: 'member', kind: 'user' },
}

/** Runs one command in the session of that key and reads it to its end. */
export type RunInSession = (key: string, argv: readonly string[]) => Promise<void>

/** Lends sessions to the work; removes them, their sandboxes and the home afterwards. */
export async function withSessions<T>(ground: Ground, work: (run: RunInSession) => Promise<T>): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-bench-'))
  const home = openHome(directory)
  const store = await openStore({ url: null, home: directory })
  const plane = await openSessionPlane({
    config: loadConfig({}, { HOLDFAST_HOME: directory }),
    home,
    store,
    chosen: { backend: ground.backend, version: ground.version, capabilities: ground.capabilities, passedOver: [] },
    openBackend: async () => ground.backend,
    url: null,
    clock: Date.now,
    log: jsonLog('error'),
  })
  const caller = callerOf(OWNER, { admin_exec: false })
  const { cpus, memoryBytes, pids } = ground.unboundSpec.limits
  const image = ground.unboundSpec.image ?? undefined
  const wish = { image, limits: { cpus, memory_bytes: memoryBytes, pids } }
  const never = new AbortController().signal
  try {
    return await work(async (key, argv) => {
      const target = { key: plane.scopes.resolveKey(key), wish }
      await plane.sessions.commands.run(caller, target, { command: { argv } }, never, (started) => started.finish(() => undefined))
    })
  } finally {
    await plane.close(0)
    await store.close()
    for (const { name } of await ground.backend.list()) await ground.backend.destroy(name)
    rmSync(directory, { recursive: true, force: true })
  }
}
