/** A server that is over before anybody speaks to it. */
import { HoldfastError } from '@holdfast/protocol'
import { expect, test } from 'vitest'
import type { Processes } from '../../sessions/processes/processes.ts'
import { boxCaller } from './box-caller.ts'
import { serverLinesOf } from './server-lines-of.ts'
import type { Complaints } from './server-lines-of.ts'

const ref = { sessionId: 'ses_1', name: 'mcp-small', executionId: 'exe_1' }

function processesThat(code: 'execution_ended' | 'session_elsewhere') {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only what is asked for here is there
  return {
    openLines: async () => {
      throw new HoldfastError(code, 'it cannot be opened')
    },
    get: async () => ({ id: 'exe_1', exitCode: 7 }),
    stderrTail: async () => 'there is no such database\n',
  } as unknown as Pick<Processes, 'openLines' | 'get' | 'stderrTail'>
}

test('is told of as one that ended, with its exit code and what it complained of', async () => {
  const heard: Complaints[] = []
  const opened = serverLinesOf(processesThat('execution_ended'), boxCaller('tnt_1'), ref, (complaints) => void heard.push(complaints))
  await expect(opened).rejects.toMatchObject({ code: 'mcp_server_exited', details: { exitCode: 7 } })
  expect(heard).toEqual([{ stderr: 'there is no such database\n' }])
})

test('is not confused with one that cannot be reached', async () => {
  const opened = serverLinesOf(processesThat('session_elsewhere'), boxCaller('tnt_1'), ref, () => expect.fail('nothing is known of it'))
  await expect(opened).rejects.toMatchObject({ code: 'session_elsewhere' })
})
