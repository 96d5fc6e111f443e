/**
 * How the tests run. Files that need a sandbox end in `.contract.test.ts`, `.crash.test.ts` or `.e2e.test.ts`; all others must be quick.
 */
import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { MixedOrder } from './test/environment/mixed-order.ts'

export default defineConfig({
  test: {
    include: ['packages/*/src/**/*.test.ts', 'test/**/*.test.ts', 'bench/**/*.test.ts', 'scripts/**/*.test.ts', 'examples/**/*.test.ts'],
    globalSetup: ['test/environment/global-setup.ts'],
    pool: 'forks',
    // Most files wait more than they compute; one core would be left alone.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    sequence: { sequencer: MixedOrder },
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
