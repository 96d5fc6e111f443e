/** Whether a Box client may count on the backend. */
import { HoldfastError } from '@holdfast/protocol'
import { expect, test } from 'vitest'
import { backendStatus } from './backend-status.ts'

test('a backend that refuses the usual session is not available, and the reason is given, until it no longer refuses', async () => {
  let refusal: HoldfastError | null = new HoldfastError('capability_unsupported', 'bubblewrap cannot limit memory: no cgroup is writable')
  let checks = 0
  const info = backendStatus({
    name: 'bubblewrap',
    list: async () => [],
    async checkUsual() {
      checks += 1
      if (refusal !== null) throw refusal
    },
  })
  expect(await info()).toEqual({
    ...{ name: 'bubblewrap', available: false },
    reason: 'every session is refused: bubblewrap cannot limit memory: no cgroup is writable',
  })
  refusal = null
  expect([await info(), await info()]).toEqual([
    { name: 'bubblewrap', available: true },
    { name: 'bubblewrap', available: true },
  ])
  expect(checks).toBe(2)
})

test('a backend that does not answer is not available', async () => {
  const info = backendStatus({ name: 'docker', list: async () => Promise.reject(new Error('gone')), checkUsual: async () => undefined })
  expect(await info()).toEqual({ name: 'docker', available: false, reason: 'docker does not answer' })
})
