/**
 * Binds one backend to both contracts, on whatever this test machine offers.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { describe, test } from 'vitest'
import type { BackendUnderTest } from '../../../../../test/environment/backends.ts'
import { backendsUnderTest } from '../../../../../test/environment/backends.ts'
import type { BackendKind, BackendNeeds, SandboxBackend } from '../backend.ts'
import { ISOLATION_PROMISES, isolationContract } from './isolation.ts'
import { isServerRoot } from '../sandbox-user.ts'
import { ON_EVERY_BACKEND, WITH_ROOT_INSIDE } from './excuses.ts'
import { LIFECYCLE_PROMISES, lifecycleContract } from './lifecycle.ts'
import type { Excuses, Subject } from './subject.ts'

/** Backends that can give `user: root` under a root server. */
const TAKES_ROOT: readonly BackendKind[] = ['bubblewrap', 'podman']

type Open = (needs: BackendNeeds, settings: BackendUnderTest['settings']) => SandboxBackend

export async function backendContracts(kind: BackendKind, open: Open, cannotItself: Excuses = {}): Promise<void> {
  const cannot = { ...ON_EVERY_BACKEND, ...cannotItself }
  refuseUnknown(cannot)
  const found = (await backendsUnderTest()).find((candidate) => candidate.kind === kind)
  if (found === undefined) throw new Error(`the test machine knows no backend named ${kind}`)
  if (found.skipReason !== null) {
    describe(kind, () => test.skip(`keeps its contracts (skipped: ${found.skipReason})`))
    return
  }
  const subject = subjectOf(found, open)
  lifecycleContract(subject, cannot)
  isolationContract(subject, cannot)
  if (TAKES_ROOT.includes(kind) && isServerRoot())
    isolationContract(subject, { ...cannot, ...WITH_ROOT_INSIDE }, { user: 'root', rootfs: 'writable' }, rootSurfaces(kind))
}

/** Containers start slowly, and the rest of the contract is the same with root inside: `npm run test:long -- root-inside` runs the whole. */
function rootSurfaces(kind: BackendKind): readonly string[] | undefined {
  return kind === 'bubblewrap' || process.env.HOLDFAST_ROOT_INSIDE === 'whole' ? undefined : ['filesystem', 'privileges', 'guest', 'counts']
}

export function subjectOf({ kind, settings }: BackendUnderTest, open: Open): Subject {
  return {
    kind,
    open: (needs) => open(needs, settings),
    image: settings.image ?? null,
    imageWithoutShell: settings.imageWithoutShell ?? null,
    engineSocket: settings.dockerSocket ?? settings.podmanSocket ?? null,
  }
}

/** A proof renamed later would otherwise leave an excuse that excuses nothing. */
function refuseUnknown(cannot: Excuses): void {
  const known = [...LIFECYCLE_PROMISES, ...ISOLATION_PROMISES]
  const unknown = Object.keys(cannot).filter((name) => !known.includes(name))
  if (unknown.length > 0) throw new Error(`no proof is named "${unknown.join('", "')}"`)
}
