/** Credentials in real sandboxes: only their session's executions have them, nothing else does, and no end leaves anything of them. */
import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { CreateTenantBody, HoldfastError } from '@holdfast/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../../../../../test/environment/backends.ts'
import { eventually } from '../../../../../test/servers/eventually.ts'
import { openGround } from '../../../../../test/servers/ground.ts'
import type { Ground } from '../../../../../test/servers/ground.ts'
import { personOf, principal } from '../../../../../test/servers/person.ts'
import type { Ask, Person } from '../../../../../test/servers/person.ts'
import type { TestServer } from '../../../../../test/servers/test-server.ts'
import type { OpenBackend } from '../../sandboxes/choose.ts'
import { credentialValues } from '../../store/tables/credentials.ts'

const ROOT = principal('root', { role: 'platform_admin' })
const PACKED: Ask = { pack: 'small' }
const HOUR_MS = 3_600_000
const ENDLESS = 'while :; do sleep 0.2; done'
/** Every end on one backend; the others prove delivery and one end. */
const THOROUGH = 'bubblewrap'

for (const under of await backendsUnderTest()) {
  describe.skipIf(under.skipReason !== null)(`credentials on ${under.kind}${because(under)}`, () => {
    const isThorough = under.kind === THOROUGH
    let ground: Ground
    let server: TestServer
    let alice: Person
    let secret: string
    beforeEach(async () => {
      secret = `secret-${crypto.randomUUID()}`
      ground = openGround(under)
      await open()
    })
    afterEach(() => ground.close())

    async function open(changed?: (open: OpenBackend) => OpenBackend): Promise<void> {
      server = await ground.start('one', {}, changed)
      alice = await personOf(server)
    }
    const put = (id: string, name: string, as: 'env' | 'file', value = secret) =>
      server.sessions.credentials.put(alice.caller, id, { name, as, value, onSuspend: 'remove' })
    const row = (id: string) => server.sessions.reads.open(alice.caller, 'read', id)

    /** A session with both forms, something that runs with them, and something that it left in the background. */
    async function lent(ask: Ask = {}): Promise<{ readonly id: string; readonly received: string }> {
      const { id } = (await alice.sh('a', 'true', { ask })).session
      await put(id, 'TOKEN', 'env')
      await put(id, 'CERT', 'file')
      expect((await alice.sh({ id }, `setsid sh -c '${ENDLESS}' > /dev/null 2>&1 & cat "$CERT"`)).stdout).toBe(secret)
      return { id, received: (await alice.start({ id }, ENDLESS)).executionId }
    }
    /** Processes whose environment has the value, as the host sees them. */
    const holders = () =>
      ground.processes().filter(({ pid }) => {
        try {
          return readFileSync(`/proc/${pid}/environ`).includes(secret)
        } catch {
          return false
        }
      })
    /** Processes that see a directory of the session's credentials. */
    const seers = (id: string) => ground.processes().filter(({ pid }) => existsSync(`/proc/${pid}/root/dev/shm/holdfast-${id}`))
    const readdirIn = (pid: number, id: string) => {
      try {
        return readdirSync(`/proc/${pid}/root/dev/shm/holdfast-${id}`)
      } catch {
        return []
      }
    }
    const stored = (id: string) => server.store.read((sql) => credentialValues(sql, id))

    function expectInNoFile(): void {
      const { home } = server
      const files = readdirSync(home.path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
      const having = files.filter(({ parentPath, name }) => readFileSync(join(parentPath, name)).includes(secret))
      expect(having.map(({ name }) => name)).toEqual([])
      expect(server.logged.join('\n')).not.toContain(secret)
    }

    test('reach the executions of their session as a variable and a file in memory, and nobody else', async () => {
      const { id } = await lent()
      const command = 'echo "$TOKEN"; cat "$CERT"; echo; stat -c %a "$CERT"; stat -f -c %T "$CERT"; id -u; stat -c %u "$CERT"'
      const [token, cert, mode, place, user, owner] = (await alice.sh({ id }, command)).stdout.trim().split('\n')
      expect([token, cert, mode, place, owner]).toEqual([secret, secret, '600', 'tmpfs', user])
      const process = await server.sessions.processes.start(
        alice.caller,
        id,
        { name: 'service', command: { argv: ['/bin/sh', '-c', `echo "$TOKEN $(cat "$CERT")"; ${ENDLESS}`] } },
        new AbortController().signal,
      )
      await eventually(() => alice.printed(id, process.id)).toBe(`${secret} ${secret}\n`)
      const other = await alice.sh('other', 'env; ls -A /dev/shm; cat /proc/[0-9]*/environ 2> /dev/null; true')
      expect(other.stdout).not.toContain(secret)
      expect(other.stdout).not.toContain('holdfast-')
      await server.sessions.processes.stop(alice.caller, id, 'service', 0)
      expect(Buffer.concat((await stored(id)).map(({ value }) => Buffer.from(value))).includes(secret)).toBe(false)
    })

    const ends: Readonly<Record<string, (id: string) => Promise<unknown>>> = {
      delete: async (id) => {
        for (const name of ['TOKEN', 'CERT']) await server.sessions.credentials.remove(alice.caller, id, name, false)
      },
      suspend: (id) => server.sessions.steering.suspend(alice.caller, id),
      transfer: async (id) => {
        const admin = await personOf(server, ROOT)
        const { version } = await row(id)
        await server.sessions.steering.transfer(admin.caller, id, { owner: 'bob', ownerGroup: null, expectedVersion: version })
      },
      cancel: (id) => server.sessions.steering.cancel(alice.caller, id),
      release: (id) => server.sessions.steering.release(alice.caller, id, { ifBusy: 'kill' }),
      expiry: () => {
        ground.clock.pass(HOUR_MS)
        return server.sessions.sweep()
      },
    }
    test.each(isThorough ? Object.keys(ends) : ['delete'])(
      'are gone from the sandbox, its processes and the store after: %s',
      async (end) => {
        const { id, received } = await lent(end === 'expiry' ? { times: { lifetimeMs: HOUR_MS } } : {})
        expect(holders().length).toBeGreaterThan(1)
        await ends[end]?.(id)
        await eventually(() => holders()).toEqual([])
        await eventually(() => seers(id).filter(({ pid }) => readdirIn(pid, id).length > 0)).toEqual([])
        expect(await stored(id)).toEqual([])
        const { status } = await server.store.read(async () =>
          server.sessions.commands.get((await personOf(server, ROOT)).caller, id, received),
        )
        expect(status).toBe('cancelled')
        expect(server.logged.join('\n')).not.toContain(secret)
      },
    )
    test.runIf(isThorough)('are gone after a failure to make the sandbox', async () => {
      const gate = Promise.withResolvers<void>()
      await server.close()
      await open((real) => async (kind) => {
        const backend = await real(kind)
        const create = async () => {
          await gate.promise
          throw new HoldfastError('backend_unavailable', 'it does not answer')
        }
        return { ...backend, create }
      })
      const { session } = await alice.get('a')
      await put(session.id, 'TOKEN', 'env')
      expect(await stored(session.id)).toHaveLength(1)
      gate.resolve()
      await eventually(async () => (await row(session.id)).state).toBe('failed')
      expect(await row(session.id)).toMatchObject({ credentials: [] })
      expect(await stored(session.id)).toEqual([])
    })

    test.runIf(isThorough)('are in no file of the server while they are lent, suspended or removed', async () => {
      const { id } = (await alice.sh('a', 'true')).session
      await server.sessions.credentials.put(alice.caller, id, { name: 'TOKEN', as: 'env', value: secret, onSuspend: 'keep' })
      await put(id, 'CERT', 'file')
      const received = await alice.start({ id }, ENDLESS)
      await expectUnreadable()
      await server.sessions.credentials.remove(alice.caller, id, 'CERT', false)
      expect((await alice.ended(id, received.executionId)).status).toBe('cancelled')
      await server.sessions.steering.suspend(alice.caller, id)
      await expectUnreadable()
      expect((await alice.sh({ id }, 'test "$TOKEN" = "" || echo lent')).stdout).toBe('lent\n')
      await server.sessions.steering.release(alice.caller, id)
      await eventually(async () => (await row(id)).state).toBe('released')
      await expectUnreadable()

      async function expectUnreadable(): Promise<void> {
        await server.store.read(async () => undefined)
        expectInNoFile()
      }
    })

    test.runIf(isThorough)(
      'are delivered after a restart and a rotation of the server’s key, and need the earlier key no longer',
      async () => {
        const { id } = (await alice.sh('a', 'true')).session
        await put(id, 'TOKEN', 'env')
        const [before] = await stored(id)
        await server.close()
        const key = join(server.home.path, 'secret.key')
        renameSync(key, `${key}.previous`)
        await open()
        expect((await alice.sh({ id }, 'echo "$TOKEN"')).stdout).toBe(`${secret}\n`)
        expect((await stored(id))[0]?.value).not.toEqual(before?.value)
        await server.close()
        rmSync(`${key}.previous`)
        await open()
        expect((await alice.sh({ id }, 'echo "$TOKEN"')).stdout).toBe(`${secret}\n`)
      },
    )

    test.runIf(isThorough)('sealed with a key that is lost start nothing, and can be put again', async () => {
      const { id } = (await alice.sh('a', 'true')).session
      await put(id, 'TOKEN', 'env')
      await server.close()
      rmSync(join(server.home.path, 'secret.key'))
      await open()
      await expect(alice.sh({ id }, 'true')).rejects.toMatchObject({ code: 'config_invalid' })
      await put(id, 'TOKEN', 'env')
      expect((await alice.sh({ id }, 'echo "$TOKEN"')).stdout).toBe(`${secret}\n`)
    })

    test.runIf(isThorough)('that cannot be written, because a program put a directory there, keep an execution from starting', async () => {
      const { id } = (await alice.sh('a', 'true')).session
      await put(id, 'CERT', 'file')
      await alice.sh({ id }, 'rm "$CERT"; mkdir "$CERT"')
      await expect(alice.sh({ id }, 'true')).rejects.toMatchObject({ code: 'command_not_started' })
      await server.sessions.credentials.remove(alice.caller, id, 'CERT', false)
      expect((await alice.sh({ id }, 'echo "[$CERT]"; ls -A /dev/shm/holdfast-*')).stdout).toBe('[]\n')
    })

    test.runIf(isThorough).each(['chmod 0 "$D"', 'rm -r "$D"; touch "$D"', 'rm "$CERT"; mkdir -p "$CERT/a"; chmod 0 "$CERT"'])(
      'are removed whatever a program made of their directory: %s',
      async (spoil) => {
        const { id, received } = await lent()
        await alice.start({ id }, `D=$(dirname "$CERT"); ${spoil}`)
        await eventually(async () => (await server.sessions.commands.list(alice.caller, id, null, 1))[0]?.status).toBe('completed')
        await server.sessions.credentials.remove(alice.caller, id, 'CERT', false)
        expect((await server.sessions.commands.get(alice.caller, id, received)).status).toBe('cancelled')
        expect((await row(id)).credentials.map(({ name }) => name)).toEqual(['TOKEN'])
        expect((await row(id)).incarnation).toBe(1)
        expect((await alice.sh({ id }, 'echo "[$CERT]"')).stdout).toBe('[]\n')
      },
    )

    describe('of a packed session', () => {
      beforeEach(async () => {
        const policy = { packing: { profiles: ['small'] } }
        const tenantId = (await server.plane.tenants.create(ROOT, CreateTenantBody.parse({ name: 'acme', policy }))).id
        alice = await personOf(server, principal('alice', { tenantId }))
      })

      test('are hidden from its neighbours, whatever these look at or prepare', async ({ skip }) => {
        if (!server.capabilities.packing) skip(server.capabilities.reasons.packing ?? 'it cannot pack')
        const { id } = await lent(PACKED)
        await alice.sh('b', 'true', { ask: PACKED })
        expect((await row(id)).sandboxId).toBe((await alice.get('b', PACKED)).session.sandboxId)
        const tries = `env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline; ls -RA /dev/shm /tmp; cat /dev/shm/holdfast-${id}/CERT; cat /dev/shm/*/*`
        const seen = await alice.sh('b', `(${tries}) 2>&1 | tr '\\0' '\\n'`)
        expect(seen.stdout + seen.stderr).not.toContain(secret)
        expect((await alice.sh('b', 'echo "[$TOKEN][$CERT]"')).stdout).toBe('[][]\n')

        // A neighbour that knows the id makes the directory first: nothing is written there.
        const third = (await alice.sh('c', 'true', { ask: PACKED })).session.id
        await alice.sh('b', `mkdir -m 0777 /dev/shm/holdfast-${third}`)
        await put(third, 'CERT', 'file')
        await expect(alice.sh({ id: third }, 'true')).rejects.toMatchObject({ code: 'command_not_started' })
        expect((await alice.sh('b', `ls -A /dev/shm/holdfast-${third}`)).stdout).toBe('')
      })

      test.each(['suspend', 'cancel'] as const)('leave nothing in the sandbox that its neighbours keep: %s', async (end) => {
        if (!server.capabilities.packing || (!isThorough && end === 'cancel')) return
        const { id } = await lent(PACKED)
        await alice.sh('b', 'true', { ask: PACKED })
        expect(seers(id).length).toBeGreaterThan(0)
        await server.sessions.steering[end](alice.caller, id)
        await eventually(() => holders()).toEqual([])
        await eventually(() => seers(id)).toEqual([])
        expect(await server.sandboxes()).toHaveLength(1)
        expect((await alice.sh('b', 'echo on')).stdout).toBe('on\n')
        expect(await stored(id)).toEqual([])
      })
    })
  })
}
