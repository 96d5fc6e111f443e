/** What the picture of the README shows is what happens today: the same lines print the same, but for numbers and ids. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { isSkipped, why } from '../../../packages/sdk/src/contract/running-server.ts'
import { withoutChance } from '../typed-shell.ts'
import { TRANSCRIPT } from './picture.ts'
import { recordSession } from './record.ts'

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  return port
}

describe.skipIf(isSkipped)(`the recording${why}`, () => {
  test('a new one is like the one that is kept', async () => {
    expect(withoutChance(await recordSession(await freePort()))).toBe(withoutChance(readFileSync(TRANSCRIPT, 'utf8')))
  })
})
