/**
 * Lifecycle, packing: sessions come into a sandbox that runs and leave it, and a packed wish is kept or refused.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { makePackedPlace, makePackedSource, removePackedPlace } from '../../packed-directory.ts'
import { PACKED_UIDS, packedPaths } from '../../packing.ts'
import type { PackedUsers } from '../../spec.ts'
import type { Laboratory, Wish } from '../laboratory.ts'
import { outcomeOf, run } from '../outcome.ts'
import type { Proofs } from '../subject.ts'
import { NotHere } from '../subject.ts'

async function packedUsers({ directory, capabilities }: Laboratory): Promise<PackedUsers> {
  if (!capabilities.packing) throw new NotHere(capabilities.reasons.packing ?? 'no packing here')
  const source = join(directory, 'packed')
  await makePackedSource(source)
  return { source, firstUid: PACKED_UIDS.first, count: PACKED_UIDS.count, pidsPerUid: 16 }
}

export const PACKING: Proofs<Laboratory> = {
  'a session comes into a packed sandbox that runs, works there with files of its own, and leaves it': async (laboratory) => {
    const packed = await packedUsers(laboratory)
    const { inside } = await laboratory.create({ packed })
    // As far apart as two uids can be, because a session keeps its own wherever it is packed.
    for (const uid of [packed.firstUid, packed.firstUid + packed.count - 1]) {
      const id = `ses_${uid}`
      const { home, workspace } = packedPaths(id)
      const made = join(packed.source, id, 'workspace/made')
      await makePackedPlace(packed.source, id, uid)
      writeFileSync(join(packed.source, id, 'workspace/brought'), 'brought along', { mode: 0o644 })
      const script = 'cat brought; echo made > made; mktemp; pwd'
      const ran = await run(inside, { argv: ['/bin/sh', '-c', script], uid, home, cwd: workspace })
      expect(ran.stdout).toMatch(new RegExp(`^brought along${home}/\\.tmp/tmp\\.\\w+\n${workspace}\n$`))
      expect(readFileSync(made, 'utf8')).toBe('made\n')
      expect(statSync(made)).toMatchObject({ uid, gid: uid })
      expect((await inside.files.stat(`${workspace}/made`, { uid })).uid).toBe(uid)
      expect(await inside.processes.killUser(uid)).toMatchObject({ verified: true })
      await removePackedPlace(packed.source, id)
      expect(existsSync(join(packed.source, id))).toBe(false)
      expect(await outcomeOf(() => inside.files.stat(workspace, { uid }))).toBe('file_operation_failed')
    }
  },

  'a packed sandbox is found again after a restart, and its users are still hidden from each other': async (laboratory) => {
    const packed = await packedUsers(laboratory)
    const { name, inside } = await laboratory.create({ packed })
    const [alice, mallory] = [packed.firstUid, packed.firstUid + 1]
    const theirs = await inside.exec({ argv: ['sleep', '1000'], uid: alice, tag: 'theirs' })
    inside.close()
    const again = await laboratory.enter(await laboratory.reopen().attach(name))
    expect(await again.processes.list()).toMatchObject([{ tag: 'theirs', uid: alice, state: 'running' }])
    const script = `cat /proc/${theirs.pid}/cmdline || echo hidden`
    expect((await run(again, { argv: ['/bin/sh', '-c', script], uid: mallory })).stdout).toBe('hidden\n')
    expect(await again.processes.killUser(alice)).toMatchObject({ verified: true })
  },

  'a packed wish that would not keep its users apart is refused by check and create alike': async (laboratory) => {
    const packed = await packedUsers(laboratory)
    const shared = laboratory.hostDirectory('shared')
    const wishes: readonly (readonly [code: string, wish: Wish])[] = [
      ['capability_unsupported', { packed: { ...packed, firstUid: 1000, count: 1 } }],
      ['capability_unsupported', { packed, mounts: [{ source: shared, target: '/data', mode: 'rw' }] }],
      ['capability_unsupported', { packed, rootfs: 'writable' }],
      ['mount_refused', { packed: { ...packed, source: shared } }],
      ['mount_refused', { packed: { ...packed, source: join(packed.source, 'missing') } }],
    ]
    for (const [code, wish] of wishes) {
      expect(await outcomeOf(() => laboratory.backend.check(laboratory.spec(wish)))).toBe(code)
      expect(await outcomeOf(() => laboratory.create(wish))).toBe(code)
    }
    chmodSync(packed.source, 0o755)
    expect(await outcomeOf(() => laboratory.create({ packed }))).toBe('mount_refused')
    expect(await laboratory.traces()).toEqual([])
  },
}
