/**
 * `npm run test:long -- langbot`: LangBot 4.10.0, 4.10.8 and 4.11.2 themselves on bubblewrap and docker, with a shared directory and without.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')
const VITEST = ['node_modules/vitest/vitest.mjs', 'run', '--configLoader=native', '--reporter=verbose', 'test/interop/box-service']

const child = spawn(process.execPath, VITEST, {
  ...{ cwd: ROOT, stdio: 'inherit' },
  env: { ...process.env, HOLDFAST_LANGBOT_CASES: 'all', HOLDFAST_REQUIRE_INTEROP: '1' },
})
const [exitCode]: unknown[] = await once(child, 'close')
process.exitCode = exitCode === 0 ? 0 : 1
