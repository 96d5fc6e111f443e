/**
 * `npm run test:long -- first-use`: what agents do first, with real registries, on bubblewrap and docker.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const vitest = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url))
const args = ['run', 'test/first-use', '--testTimeout', '1800000', '--hookTimeout', '1800000']
const env = { ...process.env, HOLDFAST_FIRST_USE: 'all' }
const [code] = await once(spawn(process.execPath, [vitest, ...args], { stdio: 'inherit', env }), 'close')
process.exitCode = code === 0 ? 0 : 1
