/**
 * What a server does with the credentials of a session: lends, delivers, removes, withdraws before a suspension and at a cancel.
 */
import { credentialValues } from '../../../packages/server/src/store/tables/credentials.ts'
import type { SessionRow } from '../../../packages/server/src/store/tables/sessions.ts'
import { endlessCommand, readySession, runCommand, shell, startCommand, untilNoSandbox, untilState } from './actions.ts'
import type { Aftermath } from './aftermath.ts'
import type { Operation, Say } from './operation.ts'
import type { ServerLife } from './server-life.ts'

const VALUE = 'lent-to-one-session'

function put({ plane, caller }: ServerLife, sessionId: string, name: string, as: 'env' | 'file') {
  return plane.sessions.credentials.put(caller, sessionId, { name, as, value: VALUE, onSuspend: 'remove' })
}

/** A session with both forms, and a command that received them and leaves a child in the background. */
async function lend(life: ServerLife, say: Say): Promise<void> {
  const { id } = await readySession(life, 'a')
  await put(life, id, 'CERT', 'file')
  await put(life, id, 'TOKEN', 'env')
  say({ session: id, doomed: await startCommand(life, id, endlessCommand()), asked: true })
}

/** Values are stored exactly for what the row lends, and nothing waits to be removed. */
async function checkStored({ life, expect }: Aftermath, { id, credentials }: SessionRow): Promise<void> {
  const stored = (await life.store.read((sql) => credentialValues(sql, id))).map(({ name }) => name).toSorted()
  const lent = credentials.map(({ name }) => name).toSorted()
  expect(stored.join() === lent.join(), `the row lends ${lent.join() || 'nothing'} and ${stored.join() || 'nothing'} is stored`)
  expect(
    credentials.every(({ removal }) => removal === null),
    'a credential is still being removed',
  )
}

/** What a new command sees is what the row lends. */
async function checkDelivered({ life, expect, file }: Aftermath, { id, credentials }: SessionRow): Promise<void> {
  await runCommand(life, life.caller, id, shell('echo "$TOKEN" > seen; ls /dev/shm/holdfast-* >> seen 2> /dev/null; exit 7'))
  const has = (name: string) => credentials.some((credential) => credential.name === name)
  const expected = `${has('TOKEN') ? VALUE : ''}\n${has('CERT') ? 'CERT\n' : ''}`
  expect((await file(id, 'seen')) === expected, `a command sees ${JSON.stringify(await file(id, 'seen'))}`)
}

export const CREDENTIAL_OPERATIONS = {
  'lend a credential': {
    async prepare(life, say) {
      say({ session: (await readySession(life, 'a')).id })
    },
    async act(life, say, { session }) {
      await put(life, String(session), 'CERT', 'file')
      say({ lent: true })
      const { status } = await runCommand(life, life.caller, String(session), shell('cat "$CERT" > got; exit 7'))
      say({ status })
    },
    async check(aftermath) {
      const { facts, sessionOf, file, expect } = aftermath
      const session = await sessionOf('session')
      if (session === null) return
      if (facts['lent'] === true) expect(session.credentials.length === 1, 'the credential is gone')
      if (facts['status'] === 'completed') expect((await file(session.id, 'got')) === VALUE, 'its file held something else')
      await checkStored(aftermath, session)
      await checkDelivered(aftermath, session)
    },
  },

  'remove a credential': {
    prepare: lend,
    async act(life, say, { session }) {
      await life.plane.sessions.credentials.remove(life.caller, String(session), 'CERT', false)
      say({ acknowledged: true })
    },
    async check(aftermath) {
      const { facts, sessionOf, executionOf, expect } = aftermath
      const session = await sessionOf('session')
      if (session === null) return
      const isRemoved = session.credentials.every(({ name }) => name !== 'CERT')
      if (facts['acknowledged'] === true) expect(isRemoved, 'the removed credential is there')
      const { status } = (await executionOf('doomed')) ?? {}
      expect(status === (isRemoved ? 'cancelled' : 'running'), `removed: ${isRemoved}, and what received it is ${status}`)
      await checkStored(aftermath, session)
      await checkDelivered(aftermath, session)
    },
  },

  'suspend with a credential': {
    prepare: lend,
    async act(life, say, { session }) {
      await life.plane.sessions.steering.suspend(life.caller, String(session))
      say({ acknowledged: true })
      await untilNoSandbox(life, String(session))
    },
    async check(aftermath) {
      const { facts, sessionOf, executionOf, expect } = aftermath
      const session = await sessionOf('session')
      if (session === null) return
      if (facts['acknowledged'] === true) expect(session.state === 'suspended', `it is ${session.state}`)
      if (session.state === 'suspended') expect(session.credentials.length === 0, 'its credentials are there')
      const { status } = (await executionOf('doomed')) ?? {}
      expect(status === (session.credentials.length === 0 ? 'cancelled' : 'running'), `what received them is ${status}`)
      await checkStored(aftermath, session)
      await checkDelivered(aftermath, session)
    },
  },

  'cancel with a credential': {
    prepare: lend,
    async act(life, say, { session }) {
      await life.plane.sessions.steering.cancel(life.caller, String(session))
      say({ acknowledged: true })
      await untilState(life, String(session), 'cancelled')
      await untilNoSandbox(life, String(session))
    },
    async check(aftermath) {
      const { facts, sessionOf, expect } = aftermath
      const session = await sessionOf('session')
      if (session === null) return
      if (facts['acknowledged'] === true) expect(session.state === 'cancelled', `the session is ${session.state}`)
      expect((session.state === 'cancelled') === (session.credentials.length === 0), `${session.state} with ${session.credentials.length}`)
      await checkStored(aftermath, session)
    },
  },
} as const satisfies Readonly<Record<string, Operation>>
