/** What is told of sessions: each thing that happened, once, with words that are known beforehand. */
import { HoldfastError } from '@holdfast/protocol'
import type { EventType } from '@holdfast/protocol'
import { beforeEach, describe, expect, test } from 'vitest'
import type { LiveSandbox } from '../sandboxes/live-sandbox.ts'
import type { SessionRow } from '../store/tables/sessions.ts'
import { unobserved } from '../telemetry/observations.ts'
import { sampleSession } from './contract/sample-session.ts'
import type { Got } from './getting.ts'
import { failToStart, loseSandbox, suspend } from './lifecycle/compute.ts'
import { beginClosing, finishClosing } from './lifecycle/closing.ts'
import type { EventDraft } from './lifecycle/step.ts'
import { observeChange, observedGetting, observedMaking, observedRunning } from './observed.ts'
import type { SessionsObserver } from './observed.ts'
import type { Running } from './running.ts'

let told: unknown[][]
const tells = (name: keyof SessionsObserver) => ({ [name]: (...values: unknown[]) => void told.push([name, ...values]) })
let observer: SessionsObserver

beforeEach(() => {
  told = []
  observer = {
    ...unobserved,
    ...tells('sessionCreated'),
    ...tells('sessionFound'),
    ...tells('sessionClosed'),
    ...tells('sessionSuspended'),
    ...tells('sessionResumed'),
    ...tells('sessionRebound'),
    ...tells('executionBegun'),
    ...tells('executionStarted'),
    ...tells('executionEnded'),
    ...tells('sandboxMade'),
  }
})

const change = (session: Partial<SessionRow>, ...events: readonly EventDraft[]) => observeChange(observer, sampleSession(session), events)
const step = ({ session, events }: { readonly session: SessionRow; readonly events: readonly EventDraft[] }) =>
  observeChange(observer, session, events)

describe('a change', () => {
  test.each([
    ['session.created', ['sessionCreated']],
    ['session.resumed', ['sessionResumed']],
    ['session.rebound', ['sessionRebound']],
    ['execution.started', ['executionBegun', 'command']],
    ['process.started', ['executionBegun', 'process']],
  ] as const satisfies readonly (readonly [EventType, readonly string[]])[])('with %s is told', (type, expected) => {
    change({}, { type })
    expect(told).toEqual([expected])
  })

  test('that closes a session tells the reason, and what ended with it', () => {
    const closing = beginClosing(sampleSession({ running: 1 }), { reason: 'expire', detail: 'idle' }, 1)
    step(closing)
    expect(told).toEqual([])
    const cleanup = { executions: 1, killed: 1, verified: true, sandbox: 'destroyed', workspace: 'deleted' } as const
    const { session, events } = finishClosing(closing.session, cleanup, 2)
    observeChange(observer, session, [{ type: 'execution.ended', data: { status: 'cancelled' } }, ...events])
    expect(told).toEqual([
      ['executionEnded', 'cancelled', null],
      ['sessionClosed', 'expire'],
    ])
  })

  test('that suspends a session tells why', () => {
    step(suspend(sampleSession({ sandboxId: 's' }), 'idle', 1))
    step(loseSandbox(sampleSession({ sandboxId: 's' }), 's', 1))
    expect(told).toEqual([
      ['sessionSuspended', 'idle'],
      ['sessionSuspended', 'sandbox_lost'],
    ])
  })

  test('that returns a session which could not be resumed is not another suspension', () => {
    const pending = sampleSession({ state: 'pending', pendingReason: 'rebind', suspendReason: 'sandbox_lost', sandboxId: 's' })
    const failed = failToStart(pending, 's', { code: 'backend_unavailable', message: 'down' }, 1)
    expect(failed.events).toMatchObject([{ type: 'session.suspended' }])
    step(failed)
    expect(told).toEqual([])
  })

  test.each([
    [12, 0.012],
    [0, 0],
    [Number.NaN, null],
    [Number.POSITIVE_INFINITY, null],
    [-5, null],
    [null, null],
  ])('with an end after %s ms is told as %s seconds', (durationMs, seconds) => {
    change({}, { type: 'execution.ended', data: { status: 'completed', duration_ms: durationMs } })
    expect(told).toEqual([['executionEnded', 'completed', seconds]])
  })

  test('with a status that nobody knows is told as a lost one', () => {
    change({}, { type: 'process.ended', data: { status: 'exploded' } })
    expect(told).toEqual([['executionEnded', 'lost', null]])
  })
})

test('a session that was open already is found, a new one is not', async () => {
  const got = (isNew: boolean) => observedGetting(async () => ({ session: sampleSession({}), isNew }) satisfies Got, observer)
  const call = [{}, {}, new AbortController().signal] as unknown as Parameters<ReturnType<typeof got>>
  await got(true)(...call)
  expect(told).toEqual([])
  await got(false)(...call)
  expect(told).toEqual([['sessionFound']])
})

test('the making of a sandbox ends started, failed or unwanted', async () => {
  const { signal } = new AbortController()
  const made = {} as LiveSandbox
  expect(await observedMaking(observer, 'bubblewrap', signal, async () => made)).toBe(made)
  const fail = () => Promise.reject(new HoldfastError('backend_unavailable', 'down'))
  await expect(observedMaking(observer, 'bubblewrap', signal, fail)).rejects.toThrow('down')
  await expect(observedMaking(observer, 'bubblewrap', AbortSignal.abort(), fail)).rejects.toThrow('down')
  expect(told.map(([, backend, outcome]) => [backend, outcome])).toEqual([
    ['bubblewrap', 'started'],
    ['bubblewrap', 'failed'],
    ['bubblewrap', 'unwanted'],
  ])
})

test('a program that runs is told when it runs, one that was refused never', async () => {
  const refused = () => Promise.reject(new HoldfastError('session_held', 'held'))
  const parts = { run: async (...[, , , , attend]: Parameters<Running['run']>) => attend({} as never), start: refused }
  const running = observedRunning(parts as unknown as Running, observer)
  const call = [{}, {}, {}, new AbortController().signal] as unknown as Parameters<Running['start']>
  await running.run(...call, async () => expect(told).toEqual([['executionStarted', expect.any(Number)]]))
  await expect(running.start(...call)).rejects.toThrow('held')
  expect(told).toHaveLength(1)
})
