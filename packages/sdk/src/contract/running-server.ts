/**
 * A real server over a real socket on bubblewrap, and a client of its administrator, for the tests of this package.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { jsonLog, loadConfig, startServer } from '@holdfast/server'
import type { RunningServer } from '@holdfast/server'
import { backendsUnderTest, because } from '../../../../test/environment/backends.ts'
import { Holdfast } from '../index.ts'
import type { HoldfastOptions } from '../index.ts'

const subject = (await backendsUnderTest()).find(({ kind }) => kind === 'bubblewrap')

/** For `describe.skipIf`, and for its name. */
export const isSkipped = subject?.skipReason !== null
export const why = subject === undefined ? ' (skipped: bubblewrap is not among the backends under test)' : because(subject)

export interface ServerForTests {
  readonly server: RunningServer
  readonly apiKey: string
  client(options?: HoldfastOptions): Holdfast
  /** Stops it and starts it again at the same address, on the same home. */
  restart(): Promise<void>
  close(): Promise<void>
}

export async function startServerForTests(settings: Readonly<Record<string, string>> = {}): Promise<ServerForTests> {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-sdk-'))
  const start = (port: string) =>
    startServer(
      loadConfig({}, { HOLDFAST_HOME: home, HOLDFAST_PORT: port, HOLDFAST_BACKEND: 'bubblewrap', ...settings }),
      jsonLog('error', (line) => process.stderr.write(line)),
    )
  let server = await start('0')
  const apiKey = readFileSync(join(home, 'admin.key'), 'utf8').trim()
  return {
    get server() {
      return server
    },
    apiKey,
    client: (options = {}) => new Holdfast({ url: server.url, apiKey, ...options }),
    async restart() {
      const { port } = new URL(server.url)
      await server.close()
      server = await start(port)
    },
    async close() {
      await server.close()
      const { backend } = server.chosen
      // A server that stops leaves them running for the next start, and there is none.
      for (const { name } of await backend.list()) await backend.destroy(name)
      rmSync(home, { recursive: true, force: true })
    },
  }
}
