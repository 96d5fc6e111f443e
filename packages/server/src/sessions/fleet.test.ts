/** Sandboxes that come and go at the same time. */
import { expect, test } from 'vitest'
import type { Sandbox, SandboxBackend } from '../sandboxes/backend.ts'
import { createFleet } from './fleet.ts'

const REF = { id: 'sbx_one', backend: 'bubblewrap' } as const

/** A backend on which attaching takes until it is given up, and destroying until it is allowed. */
function slowBackend() {
  const attaching = Promise.withResolvers<void>()
  const destroyed = Promise.withResolvers<void>()
  const backend: Pick<SandboxBackend, 'attach' | 'destroy'> = {
    attach: (_name, signal) =>
      new Promise<Sandbox>((_resolve, reject) => {
        attaching.resolve()
        signal?.addEventListener('abort', () => reject(new DOMException('This operation was aborted', 'AbortError')))
      }),
    destroy: () => destroyed.promise,
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the fleet asks for nothing else here
  return { backend: backend as SandboxBackend, attaching: attaching.promise, destroyed }
}

function fleetOn(backend: SandboxBackend) {
  return createFleet({ openBackend: async () => backend, live: {}, onFound: async () => undefined, onGone: () => undefined })
}

test('who waits for a sandbox that is destroyed meanwhile hears that it is gone, and not before it is', async () => {
  const { backend, attaching, destroyed } = slowBackend()
  const fleet = fleetOn(backend)
  const order: string[] = []
  const waits = [fleet.attach(REF), fleet.attach(REF)].map((wait) => wait.catch((error: unknown) => (order.push('told'), error)))
  await attaching
  const removal = fleet.destroy(REF).then(() => order.push('gone'))
  await new Promise((resolve) => setImmediate(resolve))
  expect(order).toEqual([])
  destroyed.resolve()
  await removal
  for (const wait of waits) expect(await wait).toMatchObject({ code: 'sandbox_gone' })
  expect(order).toHaveLength(3)
})

test('who waits for a sandbox when the server stops hears so', async () => {
  const { backend, attaching } = slowBackend()
  const fleet = fleetOn(backend)
  const wait = fleet.attach(REF).catch((error: unknown) => error)
  await attaching
  await fleet.detach()
  expect(await wait).toMatchObject({ code: 'server_stopping' })
})
