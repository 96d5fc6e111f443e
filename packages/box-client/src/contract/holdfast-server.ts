/**
 * A real Holdfast with its Box door open, on bubblewrap, for the tests of this package.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { jsonLog, loadConfig, startServer } from '@holdfast/server'
import type { RunningServer } from '@holdfast/server'
import { backendsUnderTest, because } from '../../../../test/environment/backends.ts'

const subject = (await backendsUnderTest()).find(({ kind }) => kind === 'bubblewrap')

/** For `describe.skipIf`, and for its name. */
export const isSkipped = subject?.skipReason !== null
export const why = subject === undefined ? ' (skipped: bubblewrap is not among the backends under test)' : because(subject)

export const TOKEN = 'a-token-of-at-least-32-characters-x'

export interface BoxServerForTests {
  readonly url: string
  /** Of a child that is to be a server with a home of its own below this one. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Stops it and starts it again at the same address, on the same home. */
  restart(): Promise<void>
  close(): Promise<void>
}

function start(home: string, port = '0'): Promise<RunningServer> {
  const place = { HOLDFAST_HOME: home, HOLDFAST_PORT: port, HOLDFAST_BACKEND: 'bubblewrap' }
  const config = loadConfig({}, { ...place, HOLDFAST_BOX_ENABLED: 'true', HOLDFAST_BOX_CONTROL_TOKEN: TOKEN })
  return startServer(
    config,
    jsonLog('error', (line) => process.stderr.write(line)),
  )
}

/** A server that stops leaves its sandboxes running for the next start, and there is none. */
async function endForGood(server: RunningServer): Promise<void> {
  await server.close()
  const { backend } = server.chosen
  for (const { name } of await backend.list()) await backend.destroy(name)
}

export async function startBoxServer(): Promise<BoxServerForTests> {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-box-client-'))
  const homeOfChild = join(home, 'of-the-child')
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(HOLDFAST_|LANGBOT_|npm_)/.test(name)))
  let server = await start(home)
  return {
    get url() {
      return server.url
    },
    env: { ...inherited, HOLDFAST_HOME: homeOfChild, HOLDFAST_BACKEND: 'bubblewrap', HOLDFAST_LOG_LEVEL: 'error' },
    async restart() {
      const { port } = new URL(server.url)
      await server.close()
      server = await start(home, port)
    },
    async close() {
      await endForGood(server)
      if (existsSync(homeOfChild)) await endForGood(await start(homeOfChild))
      rmSync(home, { recursive: true, force: true })
    },
  }
}
