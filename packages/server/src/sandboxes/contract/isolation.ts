/**
 * The isolation contract: attempts made from inside a sandbox, each with the attack in its name. A proof is green
 * when the attack was made and failed.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { COUNTS } from './isolation/counts.ts'
import { FILESYSTEM } from './isolation/filesystem.ts'
import type { Ground } from './isolation/ground.ts'
import { prepareGround } from './isolation/ground.ts'
import { GUEST } from './isolation/guest.ts'
import { KERNEL_MEMORY } from './isolation/kernel-memory.ts'
import { NEIGHBOURS } from './isolation/neighbours.ts'
import { NETWORK } from './isolation/network.ts'
import { PRIVILEGES } from './isolation/privileges.ts'
import { PROCESSES } from './isolation/processes.ts'
import { RESOURCES } from './isolation/resources.ts'
import { SYSTEM_CALLS } from './isolation/system-calls.ts'
import { WORKSPACE } from './isolation/workspace.ts'
import type { Wish } from './laboratory.ts'
import { proveAll } from './prove.ts'
import type { Excuses, Proofs, Subject } from './subject.ts'

const SURFACES: Readonly<Record<string, Proofs<Ground>>> = {
  network: NETWORK,
  filesystem: FILESYSTEM,
  processes: PROCESSES,
  privileges: PRIVILEGES,
  guest: GUEST,
  neighbours: NEIGHBOURS,
  resources: RESOURCES,
  'kernel memory': KERNEL_MEMORY,
  'system calls': SYSTEM_CALLS,
  workspace: WORKSPACE,
  counts: COUNTS,
}

export const ISOLATION_PROMISES = Object.values(SURFACES).flatMap((proofs) => Object.keys(proofs))

/** `always`: what every sandbox of the suite is made with. `surfaces`: the parts of the contract to run. */
export function isolationContract(
  subject: Subject,
  cannot: Excuses = {},
  always: Wish = {},
  surfaces: readonly string[] = Object.keys(SURFACES),
): void {
  describe(`${subject.kind} keeps the isolation contract${always.user === 'root' ? ' with root inside' : ''}`, () => {
    let ground: Ground | undefined
    beforeAll(async () => {
      ground = await prepareGround(subject, always)
    })
    afterAll(async () => {
      expect(await ground?.close(), 'left behind').toEqual([])
    })

    describe.for(Object.entries(SURFACES).filter(([name]) => surfaces.includes(name)))('%s', ([, proofs]) => {
      proveAll(proofs, cannot, async (prove) => {
        if (ground === undefined) throw new Error('the ground was not prepared')
        await prove(ground)
      })
    })
  })
}
