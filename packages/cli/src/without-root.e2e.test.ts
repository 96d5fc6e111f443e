/** A server of an ordinary account: what works without root, and what `up` prints about the rest. */
import { chmodSync, chownSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { backendsUnderTest } from '../../../test/environment/backends.ts'
import { ACCOUNT, spawnAsAccount } from '../../../test/servers/plain-account.ts'
import { PATIENCE_MS } from './contract/on-bubblewrap.ts'
import { realServer, removeServer } from './contract/real-server.ts'
import type { RealServer } from './contract/real-server.ts'

const SESSIONS = 20
const bubblewrap = (await backendsUnderTest()).find(({ kind }) => kind === 'bubblewrap')
const reason = bubblewrap?.skipReason ?? (process.getuid?.() === 0 ? null : 'only root can become another account')
/** The sandbox cannot reach the host's loopback. */
const hostAddress = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address

interface Account {
  readonly hasSubordinateIds: boolean
  readonly tunMode: string
}

/** `removeServer` removes the home only. */
async function startAs(account: Account, settings: NodeJS.ProcessEnv): Promise<{ server: RealServer; remove(): Promise<void> }> {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-without-root-')))
  const home = join(directory, 'home')
  mkdirSync(home)
  chmodSync(directory, 0o755)
  chownSync(home, ACCOUNT.uid, ACCOUNT.uid)
  const server = await realServer(
    { HOLDFAST_BACKEND: 'bubblewrap', ...settings },
    (argv, env) => {
      const ours = Object.entries(env).filter(
        (pair): pair is [string, string] => /^HOLDFAST_|^NODE_/.test(pair[0]) && pair[1] !== undefined,
      )
      const environment = { HOME: home, TMPDIR: home, ...Object.fromEntries(ours) }
      return spawnAsAccount([process.execPath, ...argv], { directory, ...account, environment })
    },
    home,
  )
  return {
    server,
    async remove() {
      await removeServer(server)
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

for (const hasSubordinateIds of [true, false])
  describe.skipIf(reason !== null)(
    `an ordinary account ${hasSubordinateIds ? 'with' : 'without'} subordinate ids`,
    { timeout: PATIENCE_MS },
    () => {
      let started: Awaited<ReturnType<typeof startAs>>
      beforeAll(async () => {
        started = await startAs({ hasSubordinateIds, tunMode: '0666' }, { HOLDFAST_LIMITS: 'none', HOLDFAST_NETWORK: 'on' })
      }, PATIENCE_MS)
      afterAll(() => started.remove())

      test('is ready with limits given up by one setting', async () => {
        expect(started.server.said()).toContain('holdfast is ready at')
        expect(started.server.said()).not.toContain('refused')
        expect((await fetch(`${started.server.url}/readyz`)).status).toBe(200)
      })

      test(`has ${SESSIONS} sessions with a network at the same time`, async () => {
        const runs = Array.from({ length: SESSIONS }, (_, index) =>
          started.server.holdfast(['exec', '-s', `chat-${index}`, '-c', 'grep -c tap0 /proc/net/route; echo $(hostname)']),
        )
        for (const { code, stdout, stderr } of await Promise.all(runs))
          expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '2\nsandbox\n', stderr: '' })
      })

      test.skipIf(hostAddress === undefined)('reaches a server on the network from inside', async () => {
        const web = createServer((_, response) => response.end('reached')).listen(0, hostAddress)
        await once(web, 'listening')
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port
        const { port } = web.address() as AddressInfo
        const fetching = `import urllib.request as r; print(r.urlopen('http://${hostAddress}:${port}').read().decode())`
        const run = await started.server.holdfast(['exec', '-s', 'chat-0', '--', 'python3', '-c', fetching])
        web.close()
        expect(run).toMatchObject({ code: 0, stdout: 'reached\n', stderr: '' })
      })
    },
  )

describe.skipIf(reason !== null)('an ordinary account that lacks something', { timeout: PATIENCE_MS }, () => {
  const tunClosed = { hasSubordinateIds: false, tunMode: '0600' }

  test('gets the line that opens the network device, and no network until then', async () => {
    const { server, remove } = await startAs(tunClosed, { HOLDFAST_LIMITS: 'none' })
    try {
      expect(server.said()).toContain('holdfast is ready at')
      expect(server.said()).toContain('no sandbox can have a network until')
      expect(server.said()).toContain('sudo chmod 666 /dev/net/tun')
      expect((await server.holdfast(['exec', '-s', 'a', '--', 'true'])).code).toBe(0)
      const refused = await server.holdfast(['exec', '-s', 'b', '--network', 'on', '--', 'true'])
      expect(refused).toMatchObject({ code: 125 })
      expect(refused.stderr).toContain('run `sudo chmod 666 /dev/net/tun`, then start the server again')
    } finally {
      await remove()
    }
  })

  test('is not called ready where every sandbox would be refused', async () => {
    const { server, remove } = await startAs(tunClosed, { HOLDFAST_NETWORK: 'on', HOLDFAST_LIMITS: 'none' })
    try {
      expect(server.said()).not.toContain('is ready')
      expect(server.said()).toContain('NOT READY: sandboxes are refused')
      expect(server.said()).toContain('sudo chmod 666 /dev/net/tun')
      const answer = await fetch(`${server.url}/readyz`)
      expect(answer.status).toBe(503)
      expect(await answer.json()).toMatchObject({ code: 'backend_unavailable', details: { part: 'backend' } })
    } finally {
      await remove()
    }
  })
})
