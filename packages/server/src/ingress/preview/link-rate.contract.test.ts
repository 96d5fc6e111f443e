/** Requests through a preview link count for the link, not for the caller who made it. */
import { expect, test } from 'vitest'
import { because } from '../../../../../test/environment/backends.ts'
import { bubblewrapUnderTest, openRealServer } from '../rest/contract/real-server.ts'
import { ask, linkTo } from './contract/inner-app.ts'

const under = await bubblewrapUnderTest()

test.skipIf(under.skipReason !== null)(`a link that is used too often leaves its maker served${because(under)}`, async () => {
  const real = await openRealServer({ HOLDFAST_RATE_LIMITS_REQUESTS_PER_SECOND: '1', HOLDFAST_RATE_LIMITS_BURST: '10' })
  try {
    const ada = await real.keyOf({ subject: 'ada' })
    const { url } = await linkTo(real, await real.session('app', {}, ada), 3000, {}, ada)
    // Nothing listens there: a request that is admitted finds no app.
    const statuses = await Promise.all(Array.from({ length: 60 }, async () => (await ask(real, url)).status))
    expect(statuses).toContain(429)
    expect((await real.request('/v1/sessions', { key: ada })).status).toBe(200)
  } finally {
    await real.close()
  }
})
