/** Credentials in a session's row: what is lent, what a removal marks, and what each end leaves. */
import { describe, expect, test } from 'vitest'
import type { LentCredential, SessionRow } from '../../store/tables/sessions.ts'
import { sampleSession } from '../contract/sample-session.ts'
import { beginClosing, finishClosing } from './closing.ts'
import { loseSandbox, suspend, takeOver } from './compute.ts'
import { beginRemoval, changedNames, finishRemoval, lendable, putCredential } from './credentials.ts'
import { comeDue } from './due.ts'

const NOW = 10_000
const CLEANUP = { executions: 0, killed: 0, verified: true, sandbox: 'destroyed', workspace: 'deleted' } as const
const named = (name: string, differs: Partial<LentCredential> = {}): LentCredential => ({
  ...{ name, as: 'env', bytes: 1, onSuspend: 'remove', createdAt: 1, replacedAt: null, removal: null },
  ...differs,
})
const CREDENTIALS = [named('GOES'), named('STAYS', { onSuspend: 'keep' }), named('LEAVES', { onSuspend: 'keep', removal: 'end' })]
const served = (differs: Partial<SessionRow> = {}) =>
  sampleSession({ state: 'idle', sandboxId: 'sbx_1', serverId: 'srv_1', credentials: CREDENTIALS, ...differs })
const namesIn = ({ session }: { readonly session: SessionRow }) => session.credentials.map(({ name }) => name)

describe('a credential', () => {
  test('is created, then replaced with its first time kept', () => {
    const put = { name: 'A', as: 'env', bytes: 3, onSuspend: 'remove' } as const
    const created = putCredential(sampleSession({ state: 'idle' }), put, NOW)
    expect(created.events).toMatchObject([{ type: 'credential.created', data: { name: 'A', as: 'env' } }])
    const replaced = putCredential(created.session, { ...put, as: 'file' }, NOW + 1)
    expect(replaced.events).toMatchObject([{ type: 'credential.replaced' }])
    expect(replaced.session.credentials).toMatchObject([{ as: 'file', createdAt: NOW, replacedAt: NOW + 1 }])
  })

  test('that is being removed is lent to nobody and cannot be replaced until it is gone', () => {
    const marked = beginRemoval(served(), ['GOES', 'none'], 'keep')
    expect(marked.events).toMatchObject([{ type: 'credential.removing', data: { name: 'GOES' } }])
    expect(lendable(marked.session).map(({ name }) => name)).toEqual(['STAYS'])
    const again = { name: 'GOES', as: 'env', bytes: 3, onSuspend: 'remove' } as const
    expect(() => putCredential(marked.session, again, NOW)).toThrow(expect.objectContaining({ code: 'invalid_state' }))
    const finished = finishRemoval(marked.session, ['GOES', 'STAYS'])
    expect(namesIn(finished)).toEqual(['STAYS', 'LEAVES'])
    expect(changedNames(marked.session.credentials, finished.session.credentials)).toEqual(['GOES'])
  })

  test('of a session without a sandbox is gone at once', () => {
    const step = beginRemoval(served({ state: 'suspended', sandboxId: null }), ['GOES'], 'end')
    expect(namesIn(step)).toEqual(['STAYS', 'LEAVES'])
    expect(step.events).toMatchObject([{ type: 'credential.removed' }])
  })
})

describe('credentials', () => {
  const ends: readonly (readonly [string, () => { readonly session: SessionRow }, readonly string[]])[] = [
    ['a suspension by its caller', () => suspend(served(), 'caller', NOW), ['STAYS']],
    ['one that asks to keep them', () => suspend(served(), 'caller', NOW, true), ['GOES', 'STAYS']],
    ['one for its place', () => suspend(served(), 'capacity', NOW), ['STAYS']],
    ['a stop of the server', () => suspend(served(), 'server_stopped', NOW), ['GOES', 'STAYS']],
    ['the idle deadline', () => comeDue(served({ activityAt: 0, idleMs: 1, onIdle: 'suspend' }), NOW), ['STAYS']],
    ['the loss of the sandbox', () => loseSandbox(served(), 'sbx_1', NOW), ['GOES', 'STAYS']],
    ['another server that takes over', () => takeOver(served(), 'srv_2', NOW), ['GOES', 'STAYS']],
  ]
  test.each(ends)('after %s', (_end, end, left) => {
    expect(namesIn(end())).toEqual(left)
  })

  test.each(['release', 'cancel', 'expire', 'fail'] as const)('are lent to nobody once a %s begins, and gone at its end', (reason) => {
    const closing = beginClosing(served(), { reason, detail: 'caller' }, NOW).session
    expect(lendable(closing)).toEqual([])
    const closed = finishClosing(closing, CLEANUP, NOW)
    expect(namesIn(closed)).toEqual([])
    expect(closed.events.filter(({ type }) => type === 'credential.removed')).toHaveLength(3)
  })
})
