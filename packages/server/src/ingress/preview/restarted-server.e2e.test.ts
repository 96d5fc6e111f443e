/** A server that is killed: the app runs on, and its link works again after the next start. */
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../../../../../test/environment/backends.ts'
import { startHoldfast } from '../../../../../test/mcp/holdfast-process.ts'
import type { HoldfastProcess } from '../../../../../test/mcp/holdfast-process.ts'
import { open } from './contract/inner-app.ts'

for (const under of (await backendsUnderTest()).filter(({ kind }) => kind === 'bubblewrap')) {
  describe.skipIf(under.skipReason !== null)(`links of a killed server${because(under)}`, () => {
    let holdfast: HoldfastProcess
    beforeAll(async () => {
      holdfast = await startHoldfast(under)
    })
    afterAll(() => holdfast?.close())

    test('after a restart a link leads to the same process', async () => {
      const command = 'python3 -u -m http.server 3000 > log 2>&1 & echo $! > pid; until grep -q Serving log; do sleep 0.02; done'
      const { session } = await holdfast.json('/v1/exec', { method: 'POST', body: { session: 'app', command } })
      const { id } = session as { readonly id: string }
      const { url } = await holdfast.json(`/v1/sessions/${id}/previews`, { method: 'POST', body: { port: 3000 } })
      const pid = async () => {
        const response = await open({ server: holdfast }, `${String(url)}pid`)
        expect(response.statusCode).toBe(200)
        return text(response)
      }
      const before = await pid()
      await holdfast.die()
      await holdfast.restart()
      expect(await pid()).toBe(before)
    })
  })
}
