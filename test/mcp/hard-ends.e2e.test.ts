/** Through the whole of Holdfast to servers in real boxes that do not start, die, or are left: typed errors, and nothing left running. */
import { test } from 'vitest'
import { eventually } from '../servers/eventually.ts'
import { describeHard } from './hard-laboratory.ts'
import { CLIENTS, modernCall, toolClient } from './mcp-clients.ts'

const REVISIONS = Object.keys(CLIENTS) as (keyof typeof CLIENTS)[]

await describeHard(
  'an MCP server in a box',
  (laboratory) => {
    const { serve, sleepers, inside, logOf, runOf } = laboratory

    test('that hangs in its first words is told of with its phase to clients of both eras, and ended', async ({ expect }) => {
      const address = await serve('hangs', { env: { MOOD: 'hangs' }, box: { startup_timeout_sec: 1 } })
      const hint = expect.any(String) as string
      const refused = { data: { code: 'mcp_init_failed', details: { phase: 'mcp_init', server: 'hangs', hint } } }
      await expect(CLIENTS['2025-11-25'](address)).rejects.toMatchObject(refused)
      expect(await (await modernCall(address, 'echo', { said: 'x' })).json()).toMatchObject({ error: refused })
      expect(await runOf('hangs')).toMatchObject({ state: 'failed', pid: null, error: { phase: 'mcp_init', code: 'mcp_init_failed' } })
      expect(await sleepers('hangs')).toBe(0)
      expect(await inside('hangs', 'ps ax -o args | grep -c "^python3 -u" || true')).toBe('0\n')
    })

    test.for(REVISIONS)(
      'that dies in the middle of calls of %s fails each of them, and the next call has a new one',
      async (revision, { expect }) => {
        const name = `dies-${revision}`
        const client = await toolClient(revision, await serve(name))
        const pid = await client.call('pid')
        const hanging = Array.from({ length: 5 }, () => client.call('hang'))
        const outcomes = Promise.allSettled(hanging)
        await eventually(async () => JSON.parse(await client.call('waiting')) as object, expect).toMatchObject({ waiting: 5 })
        const ended = { data: { code: 'mcp_server_exited', details: { exitCode: 9 } } }
        await expect(client.call('die', { code: 9 })).rejects.toMatchObject(ended)
        for (const outcome of await outcomes) expect(outcome).toMatchObject({ status: 'rejected', reason: ended })
        expect(await client.call('echo', { said: 'again' })).toBe('again')
        expect(await client.call('pid')).not.toBe(pid)
        await client.close()
      },
    )

    test('that cannot start is tried again after 2, 4 and 8 seconds, then told of with what it complained of', async ({ expect }) => {
      const address = await serve('never', { env: { MOOD: 'dies' } })
      const answer = await modernCall(address, 'echo', { said: 'x' })
      const told = await answer.text()
      expect(told, told).toContain('"mcp_server_exited"')
      expect(told).toContain('there is no such database')
      const log = await logOf('never')
      for (const seconds of [2, 4, 8]) expect(log).toContain(`it is tried again in ${seconds} seconds`)
      expect(await runOf('never')).toMatchObject({ state: 'failed', attempts: 4, pid: null })
    })

    test('that leaves children and ends leaves nothing in the box', async ({ expect }) => {
      const client = await toolClient('2025-11-25', await serve('forks'))
      await expect(client.call('fork')).rejects.toMatchObject({ data: { code: 'mcp_server_exited' } })
      await eventually(() => sleepers('forks'), expect).toBe(0)
      expect(await client.call('echo', { said: 'again' })).toBe('again')
      await client.close()
    })

    test.for([
      ['cancel', 'cancelled', {}],
      ['release', 'released', { drain_seconds: 1 }],
    ] as const)('ends with its session, when somebody does %s while calls run', async ([deed, state, body], { expect }) => {
      const name = `session-${deed}`
      const client = await toolClient('2025-11-25', await serve(name))
      const hanging = client.call('hang')
      hanging.catch(() => undefined)
      await eventually(async () => JSON.parse(await client.call('waiting')) as object, expect).toMatchObject({ waiting: 1 })
      const { session_id: id } = await runOf(name)
      const { holdfast } = laboratory
      expect((await holdfast.ask(`/v1/sessions/${String(id)}/${deed}`, { method: 'POST', body })).ok).toBe(true)
      await expect(hanging).rejects.toMatchObject({ data: { code: 'mcp_server_exited' } })
      await eventually(async () => (await holdfast.json(`/v1/sessions/${String(id)}`))['state'], expect).toBe(state)
      await eventually(async () => (await runOf(name))['state'], expect).toBe('stopped')
      await client.close()
    })
  },
  { isConcurrent: true },
)
