/**
 * How the tests run. Files that need a sandbox end in `.contract.test.ts`, `.crash.test.ts` or `.e2e.test.ts`; all others must be quick.
 */
import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { MixedOrder } from './test/environment/mixed-order.ts'
import { PATIENCE_MS } from './test/servers/patience.ts'

export default defineConfig({
  test: {
    include: ['packages/*/src/**/*.test.ts', 'test/**/*.test.ts', 'bench/**/*.test.ts', 'scripts/**/*.test.ts', 'examples/**/*.test.ts'],
    globalSetup: ['test/environment/global-setup.ts'],
    pool: 'forks',
    // To read the server's modules again for each file was a third of the work. What a file leaves behind in its process, the next one finds.
    isolate: false,
    // Most files wait more than they compute.
    maxWorkers: availableParallelism() + 2,
    sequence: { sequencer: MixedOrder },
    // Only for what hangs: tests wait for events, and a busy machine is slow. Longer than a poll, whose failure shows what it saw last.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: PATIENCE_MS, interval: 20 } },
  },
})
