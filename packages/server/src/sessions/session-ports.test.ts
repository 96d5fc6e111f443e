/** How many connections a session may have, and when they end. */
import { PassThrough } from 'node:stream'
import { HoldfastError } from '@holdfast/protocol'
import { expect, test } from 'vitest'
import type { Inside } from '../guest/inside.ts'
import type { LiveSandbox } from '../sandboxes/live-sandbox.ts'
import type { SessionRef } from '../store/tables/sessions.ts'
import type { Caller } from './caller.ts'
import { sampleSession } from './contract/sample-session.ts'
import { createSessionPorts } from './session-ports.ts'

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- whoever it is, it may
const nobody = {} as Caller
const { signal } = new AbortController()

/** As the guest's own: a failure that nobody hears is none. */
const opened = () => new PassThrough().on('error', () => undefined)

function openPorts(connect: Inside['connect'] = async () => opened()) {
  const noted: string[] = []
  const rows = new Map(
    [sampleSession({ id: 'ses_a', sandboxId: 'one' }), sampleSession({ id: 'ses_b', sandboxId: 'two' })].map((row) => [row.id, row]),
  )
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only its inside is looked for
  const live = { connected: async () => ({ connect }) } as unknown as LiveSandbox
  const ports = createSessionPorts({
    reads: { open: async (_caller, _verb, id) => rows.get(id) ?? sampleSession({ id }) },
    readiness: { reach: async ({ sandboxId }) => (sandboxId === null ? null : live) },
    activity: { note: ({ id }: SessionRef) => void noted.push(id) },
    maxConnections: 2,
  })
  return { ports, noted, rows, to: (id: string) => ports.connect(nobody, id, 3000, signal) }
}

test('a session has so many connections and no more, and another session has its own', async () => {
  const { to } = openPorts()
  const [first] = await Promise.all([to('ses_a'), to('ses_a')])
  await expect(to('ses_a')).rejects.toMatchObject({ code: 'capacity_exhausted', details: { limit: 2 } })
  await to('ses_b')
  first.destroy()
  await new Promise((resolve) => first.once('close', resolve))
  await to('ses_a')
})

test('those that are being made count, and those that could not be made do not', async () => {
  const waiting = Promise.withResolvers<PassThrough>()
  const { to } = openPorts(() => waiting.promise)
  const making = [to('ses_a'), to('ses_a')]
  await expect(to('ses_a')).rejects.toMatchObject({ code: 'capacity_exhausted' })
  waiting.reject(new HoldfastError('connection_refused', 'cannot connect to the port (ECONNREFUSED)', { errno: 'ECONNREFUSED' }))
  for (const one of making)
    await expect(one).rejects.toMatchObject({ code: 'connection_refused', details: { port: 3000, errno: 'ECONNREFUSED' } })
  await expect(to('ses_a')).rejects.toMatchObject({ code: 'connection_refused' })
})

test('an open connection counts as activity whenever somebody looks, a closed one no more', async () => {
  const { ports, noted, to } = openPorts()
  const connection = await to('ses_a')
  noted.splice(0)
  ports.note()
  ports.note()
  expect(noted).toEqual(['ses_a', 'ses_a'])
  connection.destroy()
  await new Promise((resolve) => connection.once('close', resolve))
  noted.splice(0)
  ports.note()
  expect(noted).toEqual([])
})

test.each([
  ['has another sandbox', { sandboxId: 'three' }],
  ['has none', { sandboxId: null, state: 'suspended' }],
  ['is being closed', { state: 'closing' }],
] as const)('connections of a session that %s end, those of others stay', async (_what, change) => {
  const { ports, rows, to } = openPorts()
  const [mine, other] = [await to('ses_a'), await to('ses_b')]
  const row = rows.get('ses_a') ?? sampleSession({})
  ports.follow(row)
  expect(mine.destroyed).toBe(false)
  ports.follow({ ...row, ...change })
  expect([mine.destroyed, other.destroyed]).toEqual([true, false])
})

test('a connection that is made while its session loses the sandbox ends at once', async () => {
  const making = Promise.withResolvers<PassThrough>()
  const { ports, rows, to } = openPorts(() => making.promise)
  const connecting = to('ses_a')
  await Promise.resolve()
  ports.follow({ ...(rows.get('ses_a') ?? sampleSession({})), sandboxId: null })
  making.resolve(opened())
  expect((await connecting).destroyed).toBe(true)
})

test('a session without a sandbox, a closed one and a held one are told apart', async () => {
  const { rows, to } = openPorts()
  rows.set('ses_a', sampleSession({ id: 'ses_a', state: 'suspended' }))
  await expect(to('ses_a')).rejects.toMatchObject({ code: 'invalid_state', details: { state: 'suspended' } })
  rows.set('ses_a', sampleSession({ id: 'ses_a', state: 'released' }))
  await expect(to('ses_a')).rejects.toMatchObject({ code: 'session_closed' })
  rows.set('ses_a', sampleSession({ id: 'ses_a', heldAt: 1, sandboxId: 'one' }))
  await expect(to('ses_a')).rejects.toMatchObject({ code: 'session_held' })
})
