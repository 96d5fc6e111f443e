/**
 * `npm run test:long -- docker`: the suites of what stands above the backend port, on Docker. `npm test` runs them on bubblewrap.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')
/** What a suite imports when it runs on one backend at a time. */
const SELECTS = /backendsAbovePort|hard-laboratory/

const files = globSync(['packages/*/src/**/*.test.ts', 'test/**/*.test.ts'], { cwd: ROOT }).filter((file) =>
  SELECTS.test(readFileSync(join(ROOT, file), 'utf8')),
)
const vitest = spawn(process.execPath, [join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', ...files], {
  ...{ cwd: ROOT, stdio: 'inherit' },
  env: { ...process.env, HOLDFAST_TEST_DOCKER: '1' },
})
const [exitCode]: unknown[] = await once(vitest, 'close')
process.exitCode = exitCode === 0 ? 0 : 1
