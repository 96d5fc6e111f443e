/**
 * Runs a suite against a real server on bubblewrap, or says by name why it does not.
 */
import { afterAll, beforeAll, describe } from 'vitest'
import { backendsUnderTest, because } from '../../../../test/environment/backends.ts'
import { realServer, removeServer } from './real-server.ts'
import type { RealServer } from './real-server.ts'

/** `server` gives the one that runs now. A test that starts it anew puts the new one in its place. */
export interface Stage {
  server: RealServer
}

/** Each run of the program is a process; on a busy machine a dozen of them take their time. */
export const PATIENCE_MS = 180_000

const subjects = (await backendsUnderTest()).filter(({ kind }) => kind === 'bubblewrap')

/** `missing`: why it cannot run here, besides the backend. */
export function onBubblewrap(
  name: string,
  suite: (stage: () => Stage) => void,
  { missing = null, settings = {} }: { readonly missing?: string | null; readonly settings?: NodeJS.ProcessEnv } = {},
): void {
  for (const subject of subjects) {
    const why = missing === null ? because(subject) : ` (skipped: ${missing})`
    describe.skipIf(subject.skipReason !== null || missing !== null)(`${name} on ${subject.kind}${why}`, { timeout: PATIENCE_MS }, () => {
      let stage: Stage | null = null
      beforeAll(async () => {
        stage = { server: await realServer({ HOLDFAST_BACKEND: subject.kind, ...settings }) }
      })
      afterAll(async () => {
        if (stage === null) return
        await removeServer(stage.server)
      })
      suite(() => {
        if (stage === null) throw new Error('the server has not started')
        return stage
      })
    })
  }
}
