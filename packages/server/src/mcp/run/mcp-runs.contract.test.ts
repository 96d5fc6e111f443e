/** MCP servers in boxes: started once for all, told by phases, the same process after a restart, and nothing left. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import type { McpServerConfig } from '@holdfast/protocol/mcp'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../../../../../test/environment/backends.ts'
import { eventually } from '../../../../../test/servers/eventually.ts'
import { openGround } from '../../../../../test/servers/ground.ts'
import type { Ground } from '../../../../../test/servers/ground.ts'
import { personOf, principal } from '../../../../../test/servers/person.ts'
import type { Person } from '../../../../../test/servers/person.ts'
import type { TestServer } from '../../../../../test/servers/test-server.ts'
import { DEFAULT_TENANT_ID } from '../../access/principal.ts'
import type { SandboxBackend } from '../../sandboxes/backend.ts'
import type { OpenBackend } from '../../sandboxes/choose.ts'
import { SYSTEM } from '../../sessions/caller.ts'
import { deleteMcpServer, lockMcpServer, updateMcpServer } from '../../store/tables/mcp-servers.ts'
import { pythonProject } from '../launch/contract/sample-projects.ts'
import { boxCaller } from './box-caller.ts'
import { SMALL_PROGRAM, smallServer } from './contract/small-server.ts'
import { listTools } from './list-tools.ts'
import type { McpRuns, OpenedMcpServer } from './mcp-runs.ts'
import { readLogs } from './read-logs.ts'

const never = new AbortController().signal
/** How long it is waited by itself before each of three further tries is proved where a whole Holdfast runs: `test/mcp/hard-ends`. */
const SOON_MS = [20, 20, 20]
/** Some systems have a Python that makes no environments. */
const HAS_VENV = spawnSync('/usr/bin/python3', ['-c', 'import ensurepip']).status === 0

for (const under of (await backendsUnderTest()).filter(({ kind }) => kind === 'bubblewrap')) {
  describe.skipIf(under.skipReason !== null)(`MCP servers on ${under.kind}${because(under)}`, () => {
    let ground: Ground
    let server: TestServer
    let alice: Person
    let bob: Person

    const begin = async (retryMs = SOON_MS) => {
      server = await ground.start('one', {}, undefined, retryMs)
      alice = await personOf(server, principal('alice'))
      bob = await personOf(server, principal('bob'))
    }
    const runs = (): McpRuns => server.plane.mcp.runs
    const put = (name: string, config: McpServerConfig) =>
      server.plane.mcp.servers.put(DEFAULT_TENANT_ID, { [name]: config }, { actor: SYSTEM })
    const sessionOf = async (person: Person, key: string) => (await person.sh(key, 'true')).session.id
    const open = (person: Person, name: string, sessionId: string | null, onProgress?: (line: string) => void) => {
      const target = sessionId === null ? null : { id: sessionId }
      return runs().open({ caller: person.caller, name, target, pipeline: undefined, onProgress }, never)
    }
    async function call({ shared }: Pick<OpenedMcpServer, 'shared'>, name: string): Promise<string> {
      const client = shared.connect({ info: {}, capabilities: {}, onNotification: () => undefined })
      try {
        const reply = await client.request({ method: 'tools/call', params: { name, arguments: {} } })
        if ('error' in reply) throw new Error(reply.error.message)
        return (reply.result['content'] as { readonly text: string }[])[0]?.text ?? ''
      } finally {
        client.close()
      }
    }
    const refused = async (work: Promise<unknown>) => {
      const error = await work.then(
        () => null,
        (reason: unknown) => reason,
      )
      if (!isHoldfastError(error)) throw new Error(`it was not refused: ${String(error)}`)
      return error
    }

    beforeEach(async () => {
      ground = openGround(under)
      await begin()
    })
    afterEach(() => ground.close())

    test('is started once for all who ask at once, in the box of the conversation, and each conversation has its own', async () => {
      await put('small', smallServer({ env: { TOKEN: 'x1' } }))
      const [one, other] = [await sessionOf(alice, 'a'), await sessionOf(alice, 'b')]
      const opened = await Promise.all(Array.from({ length: 20 }, () => open(alice, 'small', one)))
      expect(new Set(opened.map(({ shared }) => shared)).size).toBe(1)
      const [first] = opened
      if (first === undefined) throw new Error('nothing was opened')
      expect((await listTools(first.shared)).map(({ name }) => name)).toContain('pid')
      expect(await call(first, 'env')).toBe('x1')
      expect(await call(first, 'where')).toBe('/workspace')
      const view = await runs().view(first.run)
      expect(view).toMatchObject({ state: 'ready', phase: 'runtime', error: null, session_id: one, process: 'mcp-small', scope_key: 'a' })
      expect(view).toMatchObject({ server_info: { name: 'small' }, attempts: 0, clients: 0 })
      expect((await alice.sh('a', `cat /proc/${view.pid}/comm`)).stdout).toContain('python3')
      const second = await open(alice, 'small', other)
      expect(second.shared).not.toBe(first.shared)
      expect((await server.sessions.processes.list(alice.caller, one)).map(({ name }) => name)).toEqual(['mcp-small'])
    })

    test('tells when it was started, and when it was ready after that', async () => {
      const { command, args, ...rest } = smallServer()
      const waiting = 'until [ -e /workspace/go ]; do sleep 0.02; done; exec "$@"'
      await put('small', { ...rest, command: '/bin/sh', args: ['-c', waiting, 'sh', command, ...args] })
      const id = await sessionOf(alice, 'a')
      const opening = open(alice, 'small', id)
      await eventually(() => runs().of({ tenantId: DEFAULT_TENANT_ID, name: 'small' })[0]?.view().phase).toBe('mcp_init')
      ground.clock.pass(60_000)
      await alice.sh('a', 'touch /workspace/go')
      const { started_at: started, ready_at: ready } = (await opening).run.view()
      expect(Date.parse(ready ?? '') - Date.parse(started)).toBeGreaterThanOrEqual(60_000)
    })

    test('is nobody else’s in the box of a conversation', async () => {
      await put('small', smallServer())
      const mine = await sessionOf(alice, 'a')
      await open(alice, 'small', mine)
      expect(await refused(open(bob, 'small', mine))).toMatchObject({ code: 'not_found' })
    })

    test('a server of the tenant has a box of its own that no member is let into, and one process for all', async () => {
      await put('small', smallServer({ scope: 'tenant' }))
      const [one, other] = await Promise.all([open(alice, 'small', null), open(bob, 'small', null)])
      expect(await call(one, 'pid')).toBe(await call(other, 'pid'))
      const vera = await personOf(server, principal('vera', { role: 'viewer' }))
      expect(await refused(open(vera, 'small', null))).toMatchObject({ code: 'forbidden' })
      const { session_id: id } = one.run.view()
      expect(await refused(server.sessions.reads.open(alice.caller, 'exec', id ?? ''))).toMatchObject({ code: 'not_found' })
      await server.plane.mcp.servers.remove(DEFAULT_TENANT_ID, 'small', { actor: SYSTEM })
      await server.plane.mcp.settled()
      await eventually(async () => (await server.sessions.reads.open(boxCaller(DEFAULT_TENANT_ID), 'read', id ?? '')).state).toBe(
        'released',
      )
      expect(await refused(open(alice, 'small', null))).toMatchObject({ code: 'not_found' })
    })

    test('a box of its own is released also when Holdfast is killed before it follows the removal', async () => {
      for (const name of ['gone', 'kept']) await put(name, smallServer({ scope: 'tenant' }))
      const [gone, kept] = [await open(alice, 'gone', null), await open(alice, 'kept', null)].map(({ run }) => run.view().session_id ?? '')
      await server.store.write(async (transaction) => {
        const row = await lockMcpServer(transaction, DEFAULT_TENANT_ID, 'gone')
        if (row !== null) await deleteMcpServer(transaction, row)
      })
      await server.close()
      await begin()
      await server.plane.mcp.settled()
      const state = async (id = '') => (await server.sessions.reads.open(boxCaller(DEFAULT_TENANT_ID), 'read', id)).state
      await eventually(() => state(gone)).toBe('released')
      expect(await state(kept)).not.toBe('released')
    })

    test('the same process answers after a restart of Holdfast, and is not greeted again', async () => {
      await put('small', smallServer())
      const id = await sessionOf(alice, 'a')
      const before = await open(alice, 'small', id)
      const [pid, first] = [await call(before, 'pid'), await call(before, 'count')]
      const { pid: told } = await runs().view(before.run)
      await server.close()
      await begin()
      await server.plane.mcp.settled()
      const [found] = runs().of({ tenantId: DEFAULT_TENANT_ID, name: 'small' })
      expect(found?.view()).toMatchObject({ state: 'ready', session_id: id, server_info: { name: 'small' } })
      const after = await open(alice, 'small', id)
      expect(await call(after, 'pid')).toBe(pid)
      expect(Number(await call(after, 'count'))).toBe(Number(first) + 2)
      expect((await runs().view(after.run)).pid).toBe(told)
    })

    test('one whose start an earlier life of Holdfast did not see the end of is ended, and not left to keep its session awake', async () => {
      await put('hanging', smallServer({ env: { MOOD: 'hangs' } }))
      const id = await sessionOf(alice, 'a')
      const asked = open(alice, 'hanging', id).catch(() => undefined)
      const running = async () => (await server.sessions.processes.list(alice.caller, id)).map(({ name, status }) => `${name} ${status}`)
      await eventually(running).toEqual(['mcp-hanging running'])
      await server.close()
      await asked
      await begin()
      await server.plane.mcp.settled()
      expect(await running()).toEqual(['mcp-hanging completed'])
    })

    test('one that dies is tried again and ends as failed, with its phase and what it complained of; a restart forgets it', async () => {
      await put('dying', smallServer({ env: { MOOD: 'dies' } }))
      const id = await sessionOf(alice, 'a')
      const told: string[] = []
      const error = await refused(open(alice, 'dying', id, (line) => told.push(line)))
      expect(error).toMatchObject({ code: 'mcp_server_exited', details: { phase: 'mcp_init', server: 'dying', exitCode: 7 } })
      expect(error.message).toContain('there is no such database')
      expect(told.filter((line) => line.includes('tried again'))).toHaveLength(3)
      const [run] = runs().of({ tenantId: DEFAULT_TENANT_ID, name: 'dying' })
      expect(run?.view()).toMatchObject({ state: 'failed', attempts: 4, error: { phase: 'mcp_init', code: 'mcp_server_exited' } })
      const starts = (await server.sessions.commands.list(alice.caller, id, null, 100)).length
      expect(await refused(open(alice, 'dying', id))).toBe(error)
      expect(await server.sessions.commands.list(alice.caller, id, null, 100)).toHaveLength(starts)
      await put('dying', smallServer())
      expect(Number(await call(await open(alice, 'dying', id), 'pid'))).toBeGreaterThan(0)
    })

    test('who does not want to wait for every try is told of the last one, and the others go on waiting', async () => {
      await server.close()
      await begin([20, 4_000, 20])
      await put('dying', smallServer({ env: { MOOD: 'dies' } }))
      const target = { id: await sessionOf(alice, 'a') }
      const hasty = () => runs().open({ caller: alice.caller, name: 'dying', target, pipeline: undefined, tries: 2 }, never)
      const told: string[] = []
      const patient = refused(open(alice, 'dying', target.id, (line) => told.push(line)))
      expect(await refused(hasty())).toMatchObject({ code: 'mcp_server_exited' })
      const heard = told.filter((line) => line.includes('tried again')).length
      expect(heard).toBeLessThan(3)
      // Comes while the third is waited for.
      expect(await refused(hasty())).toMatchObject({ code: 'mcp_server_exited' })
      expect(told.filter((line) => line.includes('tried again'))).toHaveLength(heard)
      await patient
      expect(told.filter((line) => line.includes('tried again'))).toHaveLength(3)
    })

    test('one that ends by itself is started by whoever asks next, and its stderr stays readable', async () => {
      await put('small', smallServer({ env: { MOOD: 'prints' } }))
      const id = await sessionOf(alice, 'a')
      const first = await open(alice, 'small', id)
      const pid = await call(first, 'pid')
      expect(await refused(call(first, 'die'))).toMatchObject({ code: 'mcp_server_exited', details: { exitCode: 9 } })
      await eventually(() => first.run.view()).toMatchObject({ state: 'failed', error: { phase: 'runtime', code: 'mcp_server_exited' } })
      const lines = await readLogs(server.sessions, alice.caller, first.run)
      expect(lines).toContainEqual({ at: null, source: 'stderr', text: 'told to die' })
      expect(lines).toContainEqual(expect.objectContaining({ source: 'stdout', text: 'listening on nothing' }))
      expect(await call(await open(alice, 'small', id), 'pid')).not.toBe(pid)
    })

    test('one that ends again and again soon after it was ready is not started without end', async () => {
      await put('small', smallServer())
      const id = await sessionOf(alice, 'a')
      for (let end = 1; end <= 4; end += 1) {
        const { shared, run } = await open(alice, 'small', id)
        await refused(call({ shared }, 'die'))
        await eventually(() => run.view().state).toBe('failed')
        expect(run.view()).toMatchObject({ attempts: 1, error: { phase: 'runtime' } })
      }
      expect(await refused(open(alice, 'small', id))).toMatchObject({ code: 'mcp_server_exited', details: { phase: 'runtime' } })
      ground.clock.pass(31_000)
      expect(Number(await call(await open(alice, 'small', id), 'pid'))).toBeGreaterThan(0)
    })

    test('one that another Holdfast server changed is started anew, and one that it took away ends within a minute', async () => {
      await put('small', smallServer())
      const id = await sessionOf(alice, 'a')
      const pid = await call(await open(alice, 'small', id), 'pid')
      await server.store.write(async (transaction) => {
        const row = await lockMcpServer(transaction, DEFAULT_TENANT_ID, 'small')
        if (row !== null) await updateMcpServer(transaction, row, { ...row, version: 2, updatedAt: row.updatedAt + 1 })
      })
      expect(await call(await open(alice, 'small', id), 'pid')).not.toBe(pid)
      await server.store.write(async (transaction) => {
        const row = await lockMcpServer(transaction, DEFAULT_TENANT_ID, 'small')
        if (row !== null) await deleteMcpServer(transaction, row)
      })
      await runs().sweep()
      expect(await server.sessions.processes.get(alice.caller, id, 'mcp-small')).not.toMatchObject({ status: 'running' })
    })

    test('what one that ends leaves behind is ended too', async () => {
      await put('small', smallServer({ env: { MOOD: 'leaves-child' } }))
      const id = await sessionOf(alice, 'a')
      await refused(call(await open(alice, 'small', id), 'die'))
      await eventually(async () => (await alice.sh('a', 'ps ax | grep -c "[s]leep 86399"')).stdout.trim()).toBe('0')
    })

    test('one that never answers is ended after its time, with its phase', async () => {
      await put('hanging', smallServer({ env: { MOOD: 'hangs' }, box: { network: 'off', startup_timeout_sec: 1 } }))
      const id = await sessionOf(alice, 'a')
      expect(await refused(open(alice, 'hanging', id))).toMatchObject({ code: 'mcp_init_failed', details: { phase: 'mcp_init' } })
      expect(await server.sessions.processes.get(alice.caller, id, 'mcp-hanging')).not.toMatchObject({ status: 'running' })
    })

    test('a program that is not there, and a box that is another, are told with the phase and not tried again', async () => {
      await put('missing', smallServer({ command: 'no-such-program' }))
      await put('networked', smallServer({ box: { network: 'off', memory_mb: 64 } }))
      const id = await sessionOf(alice, 'a')
      expect(await refused(open(alice, 'missing', id))).toMatchObject({ code: 'command_not_started', details: { phase: 'process_start' } })
      const differs = await refused(open(alice, 'networked', id))
      expect(differs).toMatchObject({ code: 'session_incompatible', details: { phase: 'session_create' } })
      expect(differs.message).toContain('limits.memory_bytes')
    })

    test.skipIf(!HAS_VENV)(
      'a project of the host is copied and its dependencies installed, told line by line, and the second time nothing of it',
      async () => {
        await server.close()
        const project = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-mcp-project-')))
        pythonProject(project)
        writeFileSync(join(project, 'server.py'), `import greeting\n${SMALL_PROGRAM}`)
        server = await ground.start('one', { HOLDFAST_MOUNTS_ALLOWED_ROOTS: project, HOLDFAST_LIMITS_MEMORY: '512MiB' })
        alice = await personOf(server, principal('alice'))
        const args = ['-u', join(project, 'server.py')]
        await put('notes', smallServer({ command: join(project, '.venv/bin/python'), args, scope: 'tenant' }))
        const told: string[] = []
        const first = await open(alice, 'notes', null, (line) => told.push(line))
        expect(await call(first, 'where')).toBe('/workspace/.mcp/notes/project')
        expect(told).toContainEqual(expect.stringContaining('copied the project'))
        expect(told).toContainEqual(expect.stringContaining('installed dependencies'))
        await runs().retire({ tenantId: DEFAULT_TENANT_ID, name: 'notes' })
        const again: string[] = []
        const second = await open(alice, 'notes', null, (line) => again.push(line))
        expect(second.run.view().session_id).toBe(first.run.view().session_id)
        expect(again).toEqual(['ready'])
        rmSync(project, { recursive: true })
      },
      120_000,
    )

    test('without a sandbox it is refused with what to do, and never run on the host', async () => {
      await server.close()
      const withoutEngine = (openBackend: OpenBackend): OpenBackend => {
        const create = () => Promise.reject(new HoldfastError('backend_unavailable', 'the engine does not answer'))
        return async (kind) => Object.create(await openBackend(kind), { create: { value: create } }) as SandboxBackend
      }
      server = await ground.start('one', {}, withoutEngine, SOON_MS)
      alice = await personOf(server, principal('alice'))
      await put('small', smallServer())
      const asked = { caller: alice.caller, name: 'small', target: alice.request('a'), pipeline: undefined }
      const error = await refused(runs().open(asked, never))
      expect(error.details).toMatchObject({ phase: 'box_unavailable', hint: expect.stringContaining('nothing is run outside') })
      expect(ground.processes()).toEqual([])
    })

    test('a new configuration ends what runs by the old one, with all that it started', async () => {
      await put('small', smallServer({ env: { TOKEN: 'old', MOOD: 'leaves-child' } }))
      const id = await sessionOf(alice, 'a')
      const before = await open(alice, 'small', id)
      expect(await call(before, 'env')).toBe('old')
      await put('small', smallServer({ env: { TOKEN: 'new' } }))
      const after = await open(alice, 'small', id)
      expect(await call(after, 'env')).toBe('new')
      expect((await alice.sh('a', 'ps ax | grep -c "[s]leep 86399"')).stdout.trim()).toBe('0')
      expect(before.shared.isOver).toBe(true)
    })

    test('whoever waits for a start gets the new configuration when it is changed meanwhile', async () => {
      await put('small', smallServer({ env: { MOOD: 'hangs' } }))
      const id = await sessionOf(alice, 'a')
      const waiting = open(alice, 'small', id)
      const phase = () => runs().of({ tenantId: DEFAULT_TENANT_ID, name: 'small' })[0]?.view().phase
      await eventually(phase).toBe('mcp_init')
      await put('small', smallServer({ env: { TOKEN: 'new' } }))
      expect(await call(await waiting, 'env')).toBe('new')
    })

    test('a disabled one is refused, and ends', async () => {
      await put('small', smallServer())
      const id = await sessionOf(alice, 'a')
      await open(alice, 'small', id)
      await put('small', smallServer({ disabled: true }))
      expect(await refused(open(alice, 'small', id))).toMatchObject({ code: 'mcp_server_disabled' })
      await server.plane.mcp.settled()
      expect(await server.sessions.processes.get(alice.caller, id, 'mcp-small')).not.toMatchObject({ status: 'running' })
    })

    test('the end of the session is the end of it, and nothing is left', async () => {
      await put('small', smallServer())
      const id = await sessionOf(alice, 'a')
      const { run, shared } = await open(alice, 'small', id)
      await server.sessions.steering.cancel(alice.caller, id)
      await shared.ended
      await eventually(() => run.view().state).toBe('stopped')
      await eventually(async () => (await server.sandboxes()).length).toBe(0)
    })

    test('one that nobody uses for long is ended, so that its session can rest', async () => {
      await put('small', smallServer())
      const id = await sessionOf(alice, 'a')
      await call(await open(alice, 'small', id), 'pid')
      ground.clock.pass(10 * 60_000)
      await runs().sweep()
      expect(await server.sessions.processes.get(alice.caller, id, 'mcp-small')).toMatchObject({ status: 'running' })
      ground.clock.pass(10 * 60_000)
      await runs().sweep()
      expect(await server.sessions.processes.get(alice.caller, id, 'mcp-small')).not.toMatchObject({ status: 'running' })
      expect(runs().of({ tenantId: DEFAULT_TENANT_ID, name: 'small' })).toEqual([])
    })
  })
}
