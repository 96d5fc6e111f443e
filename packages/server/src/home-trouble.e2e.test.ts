/** A home in trouble below a real server: a full disk, a deleted database, a deleted directory. Each is noticed and named. */
import { execFileSync } from 'node:child_process'
import { closeSync, existsSync, mkdtempSync, openSync, readdirSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { untilHolds } from '../../../test/servers/eventually.ts'
import { backendsUnderTest, because } from '../../../test/environment/backends.ts'
import { startServer } from './app.ts'
import type { RunningServer } from './app.ts'
import { loadConfig } from './config.ts'
import { jsonLog } from './telemetry/log.ts'

const DISK_MEGABYTES = 96
const subject = (await backendsUnderTest()).find(({ kind }) => kind === 'bubblewrap')
const canMount = process.getuid?.() === 0

describe.skipIf(subject === undefined || subject.skipReason !== null || !canMount)(
  `a home in trouble${subject === undefined ? '' : because(subject)}${canMount ? '' : ' (cannot: only root mounts a small disk)'}`,
  () => {
    let home: string
    let server: RunningServer
    const logged: string[] = []

    const start = (onStop: 'keep' | 'suspend' = 'suspend') =>
      startServer(
        loadConfig({}, { HOLDFAST_HOME: home, HOLDFAST_PORT: '0', HOLDFAST_BACKEND: 'bubblewrap', HOLDFAST_SESSIONS_ON_STOP: onStop }),
        jsonLog('info', (line) => logged.push(line)),
      )
    const call = async (method: string, path: string, body?: object) => {
      const authorization = `Bearer ${readFileSync(join(home, 'admin.key'), 'utf8').trim()}`
      const response = await fetch(`${server.url}${path}`, {
        ...{ method, headers: { authorization } },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const answer: unknown = await response.json()
      return { status: response.status, answer }
    }
    const notReady = (part: string) => ({ status: 503, answer: { code: 'store_unavailable', details: { part } } })
    const reserve = () => join(home, 'disk-reserve')
    const filler = () => join(home, 'filler')
    function fillDisk(): void {
      const file = openSync(filler(), 'a')
      try {
        for (const bytes of [1 << 20, 4096]) {
          const chunk = Buffer.alloc(bytes, 1)
          try {
            for (;;) if (writeSync(file, chunk) < bytes) break
          } catch (error) {
            if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error
          }
        }
      } finally {
        closeSync(file)
      }
    }

    beforeEach(async () => {
      home = mkdtempSync(join(tmpdir(), 'holdfast-trouble-'))
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MEGABYTES}m,mode=0700`, 'holdfast-test', home])
      logged.length = 0
      server = await start()
      await untilHolds(() => expect(existsSync(reserve())).toBe(true))
    })
    afterEach(async () => {
      await server.close()
      execFileSync('umount', ['-l', home])
      rmSync(home, { recursive: true, force: true })
    })

    async function makeSession(): Promise<string> {
      expect((await call('POST', '/v1/exec', { session: 'a', command: 'echo kept > note' })).status).toBe(200)
      const { answer } = await call('GET', '/v1/sessions')
      const [session] = (answer as { readonly items: readonly { readonly id: string }[] }).items
      return session?.id ?? ''
    }

    test('a server on a full disk is not ready, and records the end of a session', async () => {
      const id = await makeSession()
      expect((await call('GET', '/readyz')).status).toBe(200)
      fillDisk()
      expect(await call('GET', '/readyz')).toMatchObject(notReady('disk'))
      expect(await call('POST', `/v1/sessions/${id}/cancel`)).toMatchObject({ status: 200, answer: { id } })
      expect(await call('GET', '/readyz')).toMatchObject(notReady('disk'))
    })

    test('a server starts on a full disk, records the end of a session, and is ready when there is room', async () => {
      const id = await makeSession()
      await server.close()
      fillDisk()
      expect(existsSync(reserve())).toBe(true)
      server = await start()
      expect(existsSync(reserve())).toBe(false)
      expect(await call('GET', '/readyz')).toMatchObject(notReady('disk'))
      expect(await call('POST', `/v1/sessions/${id}/cancel`)).toMatchObject({ status: 200, answer: { id } })
      rmSync(filler())
      await untilHolds(async () => expect((await call('GET', '/readyz')).status).toBe(200))
      expect(existsSync(reserve())).toBe(true)
    })

    test('a database file that is removed below the server is noticed; nothing is acknowledged that would be lost', async () => {
      const database = join(home, 'holdfast.db')
      renameSync(database, `${database}.away`)
      expect(await call('POST', '/v1/sessions', { key: 'a' })).toMatchObject({ status: 503, answer: { code: 'store_unavailable' } })
      expect(await call('GET', '/readyz')).toMatchObject(notReady('store'))
      expect(logged.join('')).toContain('removed or replaced')
      renameSync(`${database}.away`, database)
      expect((await call('POST', '/v1/sessions', { key: 'a' })).status).toBe(201)
      expect((await call('GET', '/readyz')).status).toBe(200)
    })

    test('sandboxes whose state was removed by hand are ended at the next start', async () => {
      await server.close()
      server = await start('keep')
      await makeSession()
      await server.close()
      const name = readdirSync(join(home, 'sandboxes')).find((each) => each.startsWith('sbx_')) ?? ''
      const state: unknown = JSON.parse(readFileSync(join(home, 'sandboxes', name, 'sandbox.json'), 'utf8'))
      const { cgroups } = state as { readonly cgroups: readonly string[] }
      expect(cgroups.filter((directory) => existsSync(directory))).not.toEqual([])
      rmSync(join(home, 'sandboxes'), { recursive: true, force: true })
      server = await start()
      await untilHolds(() => expect(cgroups.filter((directory) => existsSync(directory))).toEqual([]))
      // The session itself goes on over its workspace.
      expect(await call('POST', '/v1/exec', { session: 'a', command: 'cat note' })).toMatchObject({ answer: { stdout: 'kept\n' } })
    })

    test('a start on a read-only home says so', async () => {
      await server.close()
      execFileSync('mount', ['-o', 'remount,ro', home])
      await expect(start()).rejects.toThrow('mounted read-only')
      execFileSync('mount', ['-o', 'remount,rw', home])
      server = await start()
    })

    test('a directory of the home that is removed is noticed and named in the log', async () => {
      rmSync(join(home, 'output'), { recursive: true })
      expect(await call('GET', '/readyz')).toMatchObject(notReady('home'))
      expect(logged.join('')).toContain(join(home, 'output'))
    })
  },
)
