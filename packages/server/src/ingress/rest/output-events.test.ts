/** The stream of an execution's output: gaps are told, and the end is the one that is stored. */
import { expect, test, vi } from 'vitest'
import { callerOf } from '../../access/authorize.ts'
import type { Principal } from '../../access/principal.ts'
import { createEventListeners } from '../../sessions/events/event-listeners.ts'
import type { StoredOutput } from '../../sessions/executions/output-log.ts'
import type { Running } from '../../sessions/running.ts'
import type { ExecutionRow } from '../../store/tables/executions.ts'
import { readEvents } from './contract/event-reader.ts'
import { outputEvents } from './output-events.ts'
import { problemDocument } from './problems.ts'

const ADA: Principal = { tenantId: 'tnt_a', subject: 'ada', groups: [], role: 'member', kind: 'user', keyId: null, onBehalfOf: null }
const ROW = { id: 'exe_1', sessionId: 'ses_1', status: 'running', startedAt: 0, endedAt: null, cancelAt: null } as ExecutionRow

const call = {
  ...{ requestId: 'req_1', signal: new AbortController().signal, header: () => undefined, recheck: async () => {} },
  ...{ principal: ADA, caller: callerOf(ADA, { admin_exec: false }), params: { id: 'ses_1', execution: 'exe_1' } },
  problemOf: (error: unknown) => problemDocument(error, 'req_1'),
}
const stdout = (text: string, seq: number) => ({ channel: 'stdout' as const, bytes: Buffer.from(text), seq, at: 0 })
const kept = (page: Awaited<ReturnType<StoredOutput['read']>>): StoredOutput => ({
  seq: page.seq,
  read: async () => page,
  remove: async () => {},
})

test('bytes that are not kept any more are told, with the place after them', async () => {
  const output = kept({ chunks: [stdout('end', 103)], skippedBytes: 100, seq: 103 })
  const get = async () => ({ ...ROW, status: 'completed' as const, exitCode: 0 })
  const needs = { commands: { get } as unknown as Running, listeners: createEventListeners() }
  const events = await readEvents(outputEvents(call, { output, after: 0, encoding: 'text' }, needs))
  expect(events.map(({ event, id }) => [event, id])).toEqual([
    ['gap', null],
    ['stdout', '103'],
    ['exit', '103'],
  ])
  expect(events[0]?.data).toEqual({ skipped_bytes: 100, seq: 103 })
})

test('an execution whose end is not stored yet is waited for, until an event says that it is', async () => {
  const listeners = createEventListeners()
  const get = vi.fn(async (): Promise<ExecutionRow> => ROW)
  const output = kept({ chunks: [], skippedBytes: 0, seq: 0 })
  const reading = readEvents(
    outputEvents(call, { output, after: 0, encoding: 'text' }, { commands: { get } as unknown as Running, listeners }),
  )
  await expect.poll(() => get).toHaveBeenCalled()
  get.mockImplementation(async () => ({ ...ROW, status: 'completed', exitCode: 7 }))
  listeners.wake('tnt_a', 'ses_1')
  expect(await reading).toMatchObject([{ event: 'exit', data: { status: 'completed', exit_code: 7 } }])
})

test('what cannot be read is told in-band, and no end is invented', async () => {
  const output = { ...kept({ chunks: [], skippedBytes: 0, seq: 0 }), read: () => Promise.reject(new Error('disk')) }
  const needs = { commands: {} as Running, listeners: createEventListeners() }
  expect((await readEvents(outputEvents(call, { output, after: 0, encoding: 'text' }, needs))).map(({ event }) => event)).toEqual(['error'])
})
