/**
 * One life of a server, as a test can end it: everything it does to the store and to the backend goes through here.
 *
 * Tells when the server is at rest (nothing under way), and ends it without a word: from then on nothing that it asks for is
 * done, and nothing that is under way ever answers. That is as near to `kill -9` as one process can come: what had reached the
 * store or the backend happened, whatever would have followed did not.
 */
import type { Duplex } from 'node:stream'
import type { Sandbox, SandboxBackend } from '../../packages/server/src/sandboxes/backend.ts'
import type { Store } from '../../packages/server/src/store/store.ts'

export interface Life {
  readonly store: Store
  readonly backend: SandboxBackend
  /** Calls to the store and the backend that have not been answered. */
  readonly underWay: number
  /** What it reads once it has written something for `first`, until that is done, it is told only after `second`: it may be out of date. */
  readingLate(first: () => Promise<unknown>, second: () => Promise<unknown>): Promise<void>
  /** Of the next two things that it writes, the second is written first, as one of several connections may be slower than another. */
  swapWrites(): void
  /** Resolves when nothing that it began can happen any more. */
  kill(): Promise<void>
}

export function beginLife(store: Store, backend: SandboxBackend): Life {
  const connections = new Set<Duplex>()
  let underWay = 0
  let isDead = false
  let onQuiet: (() => void) | null = null
  let swap: { readonly second: PromiseWithResolvers<void>; isBegun: boolean } | null = null
  let late: { readonly answer: Promise<void>; isBegun: boolean } | null = null

  async function during<T>(work: () => Promise<T>): Promise<T> {
    if (isDead) return never()
    underWay += 1
    const [settled] = await Promise.allSettled([work()])
    underWay -= 1
    if (underWay === 0) onQuiet?.()
    if (isDead) return never()
    if (settled.status === 'rejected') throw settled.reason
    return settled.value
  }

  const tapped = (sandbox: Sandbox): Sandbox => ({
    ...sandbox,
    dial: (signal) =>
      during(async () => {
        const connection = await sandbox.dial(signal)
        connections.add(connection)
        // After a kill nobody else listens.
        connection.on('error', () => undefined)
        connection.once('close', () => connections.delete(connection))
        return connection
      }),
  })

  return {
    get underWay() {
      return underWay
    },
    store: {
      dialect: store.dialect,
      read(work) {
        const until = late?.isBegun ? late.answer : null
        return during(async () => {
          const read = await store.read(work)
          await until
          return read
        })
      },
      write(work, durability) {
        if (late !== null) late.isBegun = true
        const write = () => store.write(work, durability)
        if (swap === null) return during(write)
        const { second, isBegun } = swap
        swap = isBegun ? null : { second, isBegun: true }
        return during(isBegun ? () => write().finally(second.resolve) : () => second.promise.then(write))
      },
      promise: store.promise,
      close: () => store.close(),
    },
    backend: {
      ...backend,
      probe: (signal) => during(() => backend.probe(signal)),
      check: (spec, signal) => during(() => backend.check(spec, signal)),
      create: (...given) => during(async () => tapped(await backend.create(...given))),
      attach: (...given) => during(async () => tapped(await backend.attach(...given))),
      list: (signal) => during(() => backend.list(signal)),
      destroy: (name) => during(() => backend.destroy(name)),
    },
    async readingLate(first, second) {
      const { promise: answer, resolve } = Promise.withResolvers<void>()
      late = { answer, isBegun: false }
      try {
        await first()
        late = null
        await second()
      } finally {
        late = null
        resolve()
      }
    },
    swapWrites() {
      swap = { second: Promise.withResolvers(), isBegun: false }
    },
    async kill() {
      isDead = true
      for (const connection of connections) connection.destroy()
      if (underWay > 0) await new Promise<void>((resolve) => (onQuiet = resolve))
    },
  }
}

function never<T>(): Promise<T> {
  return new Promise(() => undefined)
}
