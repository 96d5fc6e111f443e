/**
 * The lifecycle contract: what every backend promises about making, finding and removing sandboxes, as runnable
 * proofs. A backend is done when this suite and the isolation contract are green.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * Each proof has a laboratory of its own; after each, whatever is left on the host is a failure of that proof.
 */
import { describe, expect } from 'vitest'
import { openLaboratory } from './laboratory.ts'
import { CREATION } from './lifecycle/creation.ts'
import { HOME } from './lifecycle/home.ts'
import { PACKING } from './lifecycle/packing.ts'
import { REMOVAL } from './lifecycle/removal.ts'
import { RESTART } from './lifecycle/restart.ts'
import { ROOT_USER } from './lifecycle/root-user.ts'
import { SHAPE } from './lifecycle/shape.ts'
import { WRITABLE_ROOT } from './lifecycle/writable-root.ts'
import { proveAll } from './prove.ts'
import type { Excuses, Subject } from './subject.ts'

const PROOFS = { ...CREATION, ...SHAPE, ...HOME, ...PACKING, ...RESTART, ...REMOVAL, ...WRITABLE_ROOT, ...ROOT_USER }

export const LIFECYCLE_PROMISES = Object.keys(PROOFS)

export function lifecycleContract(subject: Subject, cannot: Excuses = {}): void {
  describe(`${subject.kind} keeps the lifecycle contract`, () => {
    proveAll(PROOFS, cannot, (prove) => proveIn(subject, prove))
  })
}

async function proveIn(subject: Subject, prove: (typeof PROOFS)[string]): Promise<void> {
  const laboratory = await openLaboratory(subject)
  try {
    await prove(laboratory)
  } catch (error) {
    await laboratory.close()
    throw error
  }
  expect(await laboratory.close(), 'left behind').toEqual([])
}
