/** A server that runs and says nothing any more, and one that is started again. */
import { HoldfastError } from '@holdfast/protocol'
import { McpServerConfig } from '@holdfast/protocol/mcp'
import { expect, test } from 'vitest'
import { sampleSession } from '../../sessions/contract/sample-session.ts'
import { jsonLog } from '../../telemetry/log.ts'
import type { SharedServer } from '../share/shared-server.ts'
import { boxCaller } from './box-caller.ts'
import type { Launched, LaunchWish } from './launch-server.ts'
import type { Place } from './place.ts'
import { createServerRun } from './server-run.ts'

const never = new AbortController().signal
const session = sampleSession({ id: 'ses_1' })
const place: Place = { scope: 'session', place: 'session ses_1', scopeKey: 'a', session, pipeline: null }
const server = {
  ...{ tenantId: 'tnt_1', name: 'small', scope: 'session' as const, version: 1, createdAt: 0, updatedAt: 0 },
  config: McpServerConfig.parse({ command: 'true' }),
}

function launchedWith(check: SharedServer['check']): Launched {
  const ended = Promise.withResolvers<HoldfastError>()
  const shared: SharedServer = {
    initialized: Promise.reject(new Error('nobody asks')),
    ended: ended.promise,
    isOver: false,
    counts: { clients: 0, calls: 0, asks: 0, subscriptions: 0 },
    connect: () => {
      throw new Error('nobody comes')
    },
    check,
    close: (reason) => ended.resolve(reason ?? new HoldfastError('server_stopping', '')),
  }
  shared.initialized.catch(() => undefined)
  const handshake = { era: 'legacy', protocolVersion: '2025-11-25', capabilities: {}, serverInfo: {} } as Launched['handshake']
  const lines = { ended: new Promise(() => undefined), stderr: '' } as unknown as Launched['lines']
  return { session, executionId: 'exe_1', shared, handshake, lines, startedAt: 0 }
}

test('is ended, told as a failure, and started anew by whoever asks next, once it is gone', async () => {
  const steps: string[] = []
  const gone = Promise.withResolvers<void>()
  const ending = Promise.withResolvers<void>()
  const silent = launchedWith(() => Promise.reject(new Error('no answer')))
  const second = launchedWith(() => new Promise(() => undefined))
  const run = createServerRun(
    {
      launching: {
        launch: async (_wish: LaunchWish) => (steps.push('launch') === 1 ? silent : second),
        takeUp: async () => null,
      },
      ...{ clock: () => 0, log: jsonLog('error'), healthRules: { everyMs: 1, waitMs: 1, questions: 3 } },
      async end() {
        steps.push('end')
        ending.resolve()
        await gone.promise
        steps.push('gone')
      },
      afterEnd: async () => undefined,
    },
    server,
    place,
  )
  const caller = boxCaller('tnt_1')
  expect(await run.open(caller, place, never)).toBe(silent.shared)
  expect(run.view()).toMatchObject({ state: 'ready', health: 'answering' })
  await ending.promise
  expect(await silent.shared.ended).toMatchObject({ code: 'mcp_request_timed_out' })
  expect(run.view()).toMatchObject({ state: 'failed', health: null, error: { phase: 'runtime', code: 'mcp_request_timed_out' } })
  const again = run.open(caller, place, never)
  gone.resolve()
  expect(await again).toBe(second.shared)
  expect(steps).toEqual(['launch', 'end', 'gone', 'launch'])
  run.letGo()
})

test('whoever waits for one try waits for one of the new start, whatever became of the last', async () => {
  let now = 0
  let launches = 0
  const launched = launchedWith(() => new Promise(() => undefined))
  const run = createServerRun(
    {
      launching: {
        async launch() {
          launches += 1
          if (launches === 1) throw new HoldfastError('mcp_server_exited', 'the MCP server ended')
          return launched
        },
        takeUp: async () => null,
      },
      ...{ clock: () => now, log: jsonLog('error'), retryMs: [] },
      end: async () => undefined,
      afterEnd: async () => undefined,
    },
    server,
    place,
  )
  const caller = boxCaller('tnt_1')
  await expect(run.open(caller, place, never, 1)).rejects.toMatchObject({ code: 'mcp_server_exited' })
  now = 60_000
  expect(await run.open(caller, place, never, 1)).toBe(launched.shared)
  run.letGo()
})
