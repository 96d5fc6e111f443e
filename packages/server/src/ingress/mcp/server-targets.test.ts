/** What is passed on of a wish for the servers of a conversation. */
import { HoldfastError } from '@holdfast/protocol'
import { McpServerConfig } from '@holdfast/protocol/mcp'
import { expect, test } from 'vitest'
import { boxCaller } from '../../mcp/run/box-caller.ts'
import type { OpenRequest } from '../../mcp/run/mcp-runs.ts'
import { scopePolicy } from '../../policy/scopes/scope-policy.ts'
import { conversationsOf } from './our-tools/conversation.ts'
import { serverTargets } from './server-targets.ts'
import type { ServerTargetsNeeds } from './server-targets.ts'

test('whoever lists their tools waits for no more tries than it says', async () => {
  const asked: OpenRequest[] = []
  const config = McpServerConfig.parse({ command: 'true' })
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only what is asked for here is there
  const needs = {
    servers: { list: async () => [{ name: 'small', scope: 'session', config }] },
    runs: {
      async open(request: OpenRequest) {
        asked.push(request)
        throw new HoldfastError('mcp_init_failed', 'not today')
      },
    },
  } as unknown as ServerTargetsNeeds
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the same
  const visit = {
    caller: boxCaller('tnt_1'),
    principal: { tenantId: 'tnt_1' },
    conversation: { session_id: 'ses_1' },
  } as unknown as Parameters<ReturnType<typeof serverTargets>['servers']>[0]
  const [server] = await serverTargets(needs).servers(visit)
  await expect(server?.open(new AbortController().signal, 2)).rejects.toMatchObject({ code: 'mcp_init_failed' })
  expect(asked).toMatchObject([{ name: 'small', tries: 2 }])
})

test('tasks that nobody names are each a new one, also in the same words', async () => {
  let made = 0
  const asked: OpenRequest[] = []
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only what is asked for here is there
  const needs = {
    servers: { recall: async () => ({ name: 'small' }) },
    runs: {
      async open(request: OpenRequest) {
        asked.push(request)
        throw new HoldfastError('mcp_init_failed', 'not today')
      },
    },
    scopes: scopePolicy({ newTaskId: () => `task-${(made += 1)}` }),
  } as unknown as ServerTargetsNeeds
  const { targetOf } = serverTargets(needs)
  const conversation = conversationsOf()('scope=app&var.user_id=ana', {})
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the same
  const request = { server: 'small', conversation, principal: { tenantId: 'tnt_1', subject: 'one' } } as Parameters<typeof targetOf>[0]
  const targets = [await targetOf(request), await targetOf(request)]
  expect(new Set(targets.map(({ holder }) => holder)).size).toBe(2)
  for (const { open } of targets) await expect(open(new AbortController().signal)).rejects.toMatchObject({ code: 'mcp_init_failed' })
  expect(asked).toMatchObject([{ target: { key: { key: 'app:ana:task-1' } } }, { target: { key: { key: 'app:ana:task-2' } } }])
})
