/** The rules of the server and of a pipeline decide which session a conversation has. */
import { expect, test } from 'vitest'
import { boxCaller } from '../../../mcp/run/box-caller.ts'
import { configuredOnly } from '../../../policy/contract/configured-only.ts'
import { createPipelines } from '../../../policy/pipelines.ts'
import { createProfiles } from '../../../policy/profiles.ts'
import { scopePolicy } from '../../../policy/scopes/scope-policy.ts'
import type { GetOrCreate, SessionRequest } from '../../../sessions/getting.ts'
import type { SessionRow } from '../../../store/tables/sessions.ts'
import { conversationSessions } from './conversation-session.ts'
import type { ToolVisit } from './tool-offer.ts'

const profiles = createProfiles({ usual: null, image: null, custom: [] })

/** What the sessions are asked for. */
async function asked(
  conversation: ToolVisit['conversation'],
  rules: { readonly forcedScope?: string } = {},
): Promise<SessionRequest | string> {
  const requests: SessionRequest[] = []
  const getOrCreate: GetOrCreate = async (_caller, request) => {
    requests.push(request)
    return { session: { id: 'ses_made' } as SessionRow, isNew: true }
  }
  const { pipelines } = configuredOnly(profiles, createPipelines({ settings: { sales: { scope: '{sender_id}' } }, profiles, ...rules }))
  const sessionIdOf = conversationSessions({ getOrCreate, scopes: scopePolicy(rules), pipelines })
  const id = await sessionIdOf({ conversation, caller: boxCaller('tnt_1') } as ToolVisit, new AbortController().signal)
  return requests[0] ?? id
}

test('a session that is named by its id is not made', async () => {
  expect(await asked({ session_id: 'ses_there' })).toBe('ses_there')
})

test('a key, a scope and a pipeline each give their key', async () => {
  expect(await asked({ session: 'demo' })).toMatchObject({ key: { scope: null, key: 'demo' } })
  expect(await asked({ scope: 'message', variables: { query_id: 5 } })).toMatchObject({ key: { scope: 'message', key: '5' } })
  const sales = { pipeline: 'sales', variables: { sender_id: '9' } }
  expect(await asked(sales)).toMatchObject({ key: { scope: '{sender_id}', key: '9' }, wish: { pipeline: 'sales' } })
  await expect(asked({ pipeline: 'none' })).rejects.toMatchObject({ code: 'pipeline_unknown' })
})

test('a scope that the operator forces is taken whatever a client names', async () => {
  const forced = { forcedScope: '{sender_id}' }
  const variables = { sender_id: '9', query_id: '5' }
  for (const conversation of [{ scope: 'message', variables }, { variables }, { pipeline: 'sales', variables }])
    expect(await asked(conversation, forced)).toMatchObject({ key: { scope: '{sender_id}', key: '9' } })
  await expect(asked({ session: 'mcp' }, forced)).rejects.toMatchObject({ code: 'invalid_request' })
})
