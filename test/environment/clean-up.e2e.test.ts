/**
 * Nothing private outlives its test run, however the run ended.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { cleanUp, cleanUpAbandoned } from './clean-up.ts'
import { postgresObstacle } from './postgres.ts'
import { createRunDirectory } from './run-directory.ts'

const obstacle = postgresObstacle()
/** The protocol's first question; the answer shows that a server process serves us. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f])
const START_AND_WAIT = `
  import { startPostgres } from ${JSON.stringify(join(import.meta.dirname, 'postgres.ts'))}
  process.stdout.write((await startPostgres()).host)
  setInterval(() => {}, 1000)
`

test.skipIf(obstacle !== null)(
  `what a killed run started is ended by the next one${obstacle ? ` (skipped: ${obstacle})` : ''}`,
  async () => {
    const owner = spawn(process.execPath, ['--input-type=module', '--eval', START_AND_WAIT], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [said] = await once(owner.stdout, 'data')
    const home = String(said)
    owner.kill('SIGKILL')
    await once(owner, 'exit')
    const client = connect(join(home, '.s.PGSQL.5432'))
    client.write(SSL_REQUEST)
    await once(client, 'data')
    const hungUp = once(client, 'close')

    await cleanUpAbandoned()

    client.resume()
    await hungUp
    expect(existsSync(dirname(home))).toBe(false)
  },
)

test('what a living run owns is left alone, and cleaning up twice is fine', async () => {
  const directory = await createRunDirectory()
  await cleanUpAbandoned()
  expect(existsSync(directory)).toBe(true)
  await cleanUp(directory)
  await cleanUp(directory)
  expect(existsSync(directory)).toBe(false)
})
