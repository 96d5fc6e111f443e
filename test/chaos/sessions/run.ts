/**
 * `npm run test:long -- crashes`: the operations on sessions, killed at every step on every store and backend; `npm test` tries a few.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../../..')

const vitest = spawn(
  process.execPath,
  [join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', 'test/chaos/sessions', ...process.argv.slice(2)],
  {
    cwd: ROOT,
    stdio: 'inherit',
    env: { HOLDFAST_CHAOS_STEPS: 'all', ...process.env },
  },
)
const [exitCode] = await once(vitest, 'exit')
process.exitCode = exitCode ?? 1
