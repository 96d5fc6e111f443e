/**
 * `npm run test:long -- places`: 200 conversations, one of them busy and one of another tenant, on a server with 100 places.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const vitest = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url))
const args = ['run', 'packages/server/src/sessions/places.e2e.test.ts', '-t', 'serves twice as many', '--testTimeout', '900000']
const env = { ...process.env, HOLDFAST_TEST_PLACES: process.env['HOLDFAST_TEST_PLACES'] ?? '100' }
const [code] = await once(spawn(process.execPath, [vitest, ...args], { stdio: 'inherit', env }), 'close')
process.exitCode = code === 0 ? 0 : 1
