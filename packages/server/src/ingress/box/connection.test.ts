/** What waits on one connection is bounded: it is read only as fast as its work gets done. */
import { expect, test } from 'vitest'
import { createConnection } from './connection.ts'
import type { Fence } from './fence.ts'
import { createFileTransfer } from './file-transfer.ts'
import { workBudget } from '../pipeline/work-budget.ts'

const MIB = 1024 * 1024
const FENCE: Fence = {
  run: async (_tenant, _controller, work) => work(),
  isCurrent: () => true,
  onStale: () => () => undefined,
  only: () => null,
}

function open() {
  const [pressure, sent]: [boolean[], string[]] = [[], []]
  const gates: PromiseWithResolvers<void>[] = []
  const unread = { isTrue: false }
  const connection = createConnection({
    peer: { instance: null },
    hostActions: { __ping: async () => ({}) },
    tenantActions: {
      async box_exec() {
        const gate = Promise.withResolvers<void>()
        gates.push(gate)
        await gate.promise
        return {}
      },
    },
    fence: FENCE,
    files: createFileTransfer({ directory: '/nowhere', maxFileBytes: 1 }),
    failureMessage: String,
    send: async (text) => (unread.isTrue ? new Promise(() => undefined) : void sent.push(text)),
    onPressure: (isHigh) => void pressure.push(isHigh),
  })
  const say = (action: string, bytes = 0) => connection.receive(JSON.stringify({ seq_id: 1, action, data: { text: 'x'.repeat(bytes) } }))
  return { connection, pressure, sent, gates, say, unread }
}

test('above 32 MiB nothing more is read until half of it is done', async () => {
  const { connection, pressure, gates, say } = open()
  for (let count = 0; count < 3; count += 1) say('box_exec', 10 * MIB)
  expect(pressure).toEqual([])
  say('box_exec', 10 * MIB)
  expect(pressure).toEqual([true])
  await expect.poll(() => gates.length).toBe(4)
  gates[0]?.resolve()
  gates[1]?.resolve()
  await expect.poll(() => connection.inFlight).toBe(2)
  expect(pressure).toEqual([true])
  gates[2]?.resolve()
  await expect.poll(() => pressure).toEqual([true, false])
  gates[3]?.resolve()
  await connection.close()
})

test('a client that asks and does not read what it is told is not read either', async () => {
  const { pressure, say, unread } = open()
  unread.isTrue = true
  for (let count = 0; count < 20_000; count += 1) say('__ping')
  expect(pressure).toEqual([true])
})

test('an action that its client cancels ends without an answer, and others go on', async () => {
  const { connection, sent, gates } = open()
  const ask = (id: number, action: string, data: object = {}) => connection.receive(JSON.stringify({ seq_id: id, action, data }))
  ask(1, 'box_exec')
  ask(2, 'box_exec')
  await expect.poll(() => gates.length).toBe(2)
  ask(3, '__cancel_action', { seq_id: 1 })
  ask(4, '__cancel_action', { seq_id: 77 })
  for (const gate of gates) gate.resolve()
  await expect.poll(() => connection.inFlight).toBe(0)
  const replies = sent.map((text) => JSON.parse(text) as { seq_id: number; code: number; data: object })
  expect(replies.map(({ seq_id: id, code, data }) => [id, code, data])).toEqual(
    expect.arrayContaining([
      [2, 0, {}],
      [3, 0, { cancelled: true }],
      [4, 0, { cancelled: false }],
    ]),
  )
  expect(replies).toHaveLength(3)
})

test('a full connection still takes cancellations', async () => {
  const { connection, sent, gates } = open()
  for (let id = 1; id <= 128; id += 1) connection.receive(JSON.stringify({ seq_id: id, action: 'box_exec', data: {} }))
  await expect.poll(() => gates.length).toBe(128)
  connection.receive(JSON.stringify({ seq_id: 129, action: 'box_exec', data: {} }))
  connection.receive(JSON.stringify({ seq_id: 130, action: '__cancel_action', data: { seq_id: 5 } }))
  await expect.poll(() => sent.length).toBe(2)
  expect(sent.map((text) => JSON.parse(text) as object)).toMatchObject([
    { seq_id: 129, code: 1 },
    { seq_id: 130, data: { cancelled: true } },
  ])
  for (const gate of gates) gate.resolve()
  await connection.close()
})

test('nothing is said and nothing is begun after the end', async () => {
  const { connection, sent, gates, say } = open()
  say('box_exec')
  const closing = connection.close()
  gates[0]?.resolve()
  await closing
  say('__ping')
  await connection.close()
  expect(sent).toEqual([])
  expect(connection.inFlight).toBe(0)
})

test('a message with too many members is refused before it is parsed, and one without room by its class', async () => {
  const budget = workBudget({ bytes: { perCaller: MIB, perTenant: MIB, total: MIB }, streams: { perCaller: 1, perTenant: 1, total: 1 } })
  const sent: string[] = []
  const connection = createConnection({
    ...{ peer: { instance: null }, hostActions: { __ping: async () => ({}) }, tenantActions: {}, fence: FENCE },
    files: createFileTransfer({ directory: '/nowhere', maxFileBytes: 1 }),
    failureMessage: String,
    begin: () => budget.begin({ tenant: 'a', caller: 'box', key: 'box' }),
    send: async (text) => void sent.push(text),
    onPressure: () => undefined,
  })
  connection.receive(`{"seq_id":1,"action":"__ping","data":{"a":[${'1,'.repeat(60_000)}1]}}`)
  connection.receive(`{"seq_id":2,"action":"__ping","data":{"a":"${'x'.repeat(2 * MIB)}"}}`)
  connection.receive('{"seq_id":3,"action":"__ping","data":{}}')
  await expect.poll(() => sent.length).toBe(3)
  const replies = sent.map((text) => JSON.parse(text) as { seq_id: number; code: number; message: string })
  expect(replies.map(({ seq_id: id, code }) => [id, code])).toEqual([
    [1, 1],
    [2, 1],
    [3, 0],
  ])
  expect(replies[0]?.message).toMatch(/6000\d members/)
  expect(replies[1]?.message).toContain('in flight')
  expect(budget.inFlight.bytes).toBe(0)
})
