/** Cancelling by a later message: only of one's own calls, and only while they go on. */
import { expect, test } from 'vitest'
import { callsUnderWay } from './calls-under-way.ts'

const ada = { principal: { tenantId: 't', keyId: 'k', subject: 'ada' }, clientId: 'mcp_1' }

test('a call is cancelled by its own client and by its own id', () => {
  const calls = callsUnderWay()
  const { signal } = calls.begin(ada, 1)
  calls.cancel({ ...ada, clientId: 'mcp_2' }, 1)
  for (const other of [{ tenantId: 'u' }, { keyId: 'l' }, { subject: 'ben' }])
    calls.cancel({ ...ada, principal: { ...ada.principal, ...other } }, 1)
  calls.cancel(ada, '1')
  calls.cancel(ada, 2)
  expect(signal.aborted).toBe(false)
  calls.cancel(ada, 1)
  expect(signal.aborted).toBe(true)
})

test('one that was answered is not there any more, and its end does not end a later one of its id', () => {
  const calls = callsUnderWay()
  const first = calls.begin(ada, 1)
  const second = calls.begin(ada, 1)
  first.end()
  calls.cancel(ada, 1)
  expect([first.signal.aborted, second.signal.aborted]).toEqual([false, true])
  second.end()
  const third = calls.begin(ada, 1)
  third.end()
  calls.cancel(ada, 1)
  expect(third.signal.aborted).toBe(false)
})

test('clients without an id do not cancel each other', () => {
  const calls = callsUnderWay()
  const nameless = { ...ada, clientId: undefined }
  const { signal } = calls.begin(nameless, 1)
  calls.cancel(nameless, 1)
  expect(signal.aborted).toBe(false)
})
