/**
 * Which session a request is about, said in one of three ways: by a key, by an id, or by a scope or pipeline with its variables.
 */
import { z } from 'zod'
import { SandboxWish } from './sandbox-wish.ts'
import { ScopeRequest, SessionKey } from './scopes.ts'

export const ConversationShape = {
  /** The caller's name for the conversation, whose session is made if need be: a lookup key, never a file name. */
  session: SessionKey.optional(),
  session_id: z
    .string()
    .max(64, { error: 'must be at most 64 characters' })
    .regex(/^\w+$/, { error: 'must be the id of a session' })
    .optional()
    .meta({ description: 'A session that exists. Nothing that shapes a sandbox goes with it: it has its own.' }),
  /** Or what the key is made from. */
  ...ScopeRequest.shape,
} as const

type Named = { readonly [name in keyof typeof ConversationShape]?: unknown }

/** With a key, a pipeline only says what else it brings. */
export function namesOneConversation({
  session,
  session_id: id,
  scope,
  variables,
  pipeline,
}: Named & { readonly pipeline?: unknown }): boolean {
  const rule = scope ?? variables ?? ((session ?? id) === undefined ? pipeline : undefined)
  return [session, id, rule].filter((way) => way !== undefined).length === 1
}

export const ONE_CONVERSATION = {
  error: 'give exactly one of session (a key), session_id, and scope or pipeline with its variables',
  path: ['session'],
}

const WISH_FIELDS = SandboxWish.keyof().options

/** What shapes a sandbox is for one that is made, or that is compared with it by its key; nobody is to think that it was heeded here. */
export function shapesNoOther<T extends Named & z.output<typeof SandboxWish>>({ value, issues }: z.core.ParsePayload<T>): void {
  if (value.session_id === undefined) return
  for (const field of WISH_FIELDS)
    if (value[field] !== undefined)
      issues.push({
        ...{ code: 'custom', input: value[field], path: [field] },
        message: 'shapes a session that is made; leave it out with session_id, whose session has its own',
      })
}
