/** A workspace that is filled while no server watches. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../../../../../test/environment/backends.ts'
import { openGround } from '../../../../../test/servers/ground.ts'
import type { Ground } from '../../../../../test/servers/ground.ts'
import { personOf } from '../../../../../test/servers/person.ts'

const SETTINGS = { HOLDFAST_LIMITS_WORKSPACE: '20m' }

for (const under of (await backendsUnderTest()).filter(({ kind }) => kind === 'bubblewrap')) {
  describe.skipIf(under.skipReason !== null)(`a restart on ${under.kind}${because(under)}`, () => {
    let ground: Ground
    beforeEach(() => {
      ground = openGround(under)
    })
    afterEach(() => ground.close())

    test('finds a workspace that is over its bound, and stops what still runs in it', async () => {
      const first = await ground.start('one', SETTINGS)
      const script = 'echo ready; until [ -e go ]; do sleep 0.05; done; dd if=/dev/zero of=big bs=1M count=60; exec sleep 600'
      const alice = await personOf(first)
      const { session, executionId } = await alice.start('a', script, { name: 'writer' })
      await first.close()
      writeFileSync(join(first.home.workspacesDir, session.id, 'files', 'go'), '')
      const second = await ground.start('one', SETTINGS)
      const later = await personOf(second)
      expect(await later.ended(session.id, executionId)).toMatchObject({ status: 'workspace_full' })
      expect((await later.sh('a', 'rm big')).session.notice).toMatch(/^The workspace is over its bound/)
      expect((await later.sh('a', 'ls')).session.notice).toBeUndefined()
    })
  })
}
