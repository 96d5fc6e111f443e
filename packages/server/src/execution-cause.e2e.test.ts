/** Results say which limit ended a command, over real sandboxes: with its figure and its setting, and only when it is proved. */
import { ExecResult, ExecutionView } from '@holdfast/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../../../test/environment/backends.ts'
import { settingsOf } from './ingress/rest/contract/backend-settings.ts'
import { openRealServer } from './ingress/rest/contract/real-server.ts'
import type { RealServer } from './ingress/rest/contract/real-server.ts'

const MEBIBYTE = 2 ** 20
const KINDS: readonly string[] = ['bubblewrap', 'docker']
const EAT_MEMORY = "x=$(head -c 200000000 /dev/zero | tr '\\0' x)"

for (const under of (await backendsUnderTest()).filter(({ kind }) => KINDS.includes(kind))) {
  describe.skipIf(under.skipReason !== null)(`why a command failed on ${under.kind}${because(under)}`, () => {
    let real: RealServer
    beforeAll(async () => {
      real = await openRealServer(settingsOf(under))
    })
    afterAll(() => real.close())

    async function run(session: string, command: string, more: object = {}) {
      const response = await real.request('/v1/exec', { method: 'POST', body: JSON.stringify({ session, command, ...more }) })
      return ExecResult.parse(await response.json())
    }

    test('out of memory names the limit, in result, record and event; the next failure does not', async () => {
      const result = await run('memory', EAT_MEMORY, { limits: { memory_bytes: 64 * MEBIBYTE } })
      const cause = { code: 'out_of_memory', limit: 64 * MEBIBYTE, setting: 'limits.memory_bytes' }
      expect(result.cause).toMatchObject({ ...cause, message: expect.stringContaining('64 MiB') as string })
      const { id } = result.session
      const found = await real.request(`/v1/sessions/${id}/executions/${result.execution_id}`)
      expect(ExecutionView.parse(await found.json()).cause).toEqual(result.cause)
      const events = (await (await real.request(`/v1/sessions/${id}/events?after=0`)).json()) as { items: { type: string; data: object }[] }
      const ended = events.items.find(({ type }) => type === 'execution.ended')
      expect(ended?.data).toMatchObject({ execution_id: result.execution_id, cause })
      expect(await run('memory', 'exit 137')).toMatchObject({ exit_code: 137, cause: null })
    })

    test('a refused fork names the process limit', async () => {
      const command = 'for i in $(seq 64); do sleep 60 & done; wait'
      const result = await run('pids', command, { limits: { pids: 16 } })
      expect(result.cause).toMatchObject({ code: 'process_limit', limit: 16, setting: 'limits.pids' })
    })

    test('a full /tmp is named while it is full', async () => {
      const result = await run('tmp', 'dd if=/dev/zero of=/tmp/large bs=65536 count=1000', { limits: { tmp_bytes: 8 * MEBIBYTE } })
      expect(result).toMatchObject({ exit_code: 1, cause: { code: 'tmp_full', limit: 8 * MEBIBYTE, setting: 'limits.tmp_bytes' } })
      expect(await run('tmp', 'rm /tmp/large; exit 1')).toMatchObject({ exit_code: 1, cause: null })
    })

    test('a timeout names its length, and every result has the time that the command had', async () => {
      const result = await run('time', 'sleep 60', { timeout_ms: 100 })
      expect(result).toMatchObject({ status: 'timed_out', timeout_ms: 100, cause: { code: 'timeout', limit: 100, setting: 'timeout_ms' } })
      expect(await run('time', 'exit 3')).toMatchObject({ exit_code: 3, timeout_ms: 120_000, cause: null })
      expect(await run('time', 'true')).toMatchObject({ exit_code: 0, timeout_ms: 120_000, cause: null })
    })
  })
}
