/**
 * The store contract: what both engines promise, as runnable proofs. An engine is done when this suite is green.
 *
 * Stands beside the flow. Each proof has an empty database of its own.
 */
import { describe, test } from 'vitest'
import type { Store } from '../store.ts'
import { ATOMICITY } from './atomicity.ts'
import { CONCURRENCY } from './concurrency.ts'
import { CRASHES } from './crashes.ts'
import { LIFE } from './life.ts'
import { MIGRATING } from './migrating.ts'
import { openForContract } from './open-for-contract.ts'
import type { Ground, Subject } from './subject.ts'
import { VALUES } from './values.ts'

const PROOFS = { ...ATOMICITY, ...CONCURRENCY, ...VALUES, ...MIGRATING, ...CRASHES, ...LIFE }

export function storeContract(subject: Subject): void {
  describe(`${subject.dialect} keeps the store contract`, () => {
    for (const [name, prove] of Object.entries(PROOFS)) test(name, () => proveOn(subject, prove))
  })
}

/** Gives the proof its ground, and takes everything away afterwards. */
export async function proveOn({ dialect, makeDatabase }: Subject, prove: (ground: Ground) => Promise<void>): Promise<void> {
  const { address, fingerprint, remove } = await makeDatabase()
  const stores: Store[] = []
  const open = async () => {
    const store = await openForContract(dialect, address)
    stores.push(store)
    return store
  }
  const closeAll = async () => void (await Promise.all(stores.map((store) => store.close())))
  try {
    await prove({ dialect, store: await open(), open, address, fingerprint, closeAll })
  } finally {
    await closeAll()
    await remove()
  }
}
