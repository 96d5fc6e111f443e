/**
 * `/v1/sessions/{id}/…`: what may be done to a session as a whole.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import {
  AcceptTransferBody,
  CancelWorkBody,
  HoldSessionBody,
  KilledView,
  RefreshSessionBody,
  ReleaseSessionBody,
  ResetHomeBody,
  SessionRecord,
  SuspendSessionBody,
  TransferSessionBody,
} from '@holdfast/protocol'
import type { ErrorCode } from '@holdfast/protocol'
import type { Steering, Transferred } from '../../sessions/steering.ts'
import type { SessionRow } from '../../store/tables/sessions.ts'
import { OneId } from './paths.ts'
import { json, route } from './route.ts'
import type { Route } from './route.ts'
import { sessionRecord } from './session-record.ts'
import { etag, requiredVersion } from './versions.ts'

const ANSWERS = { 200: json('Session', SessionRecord, 'The session after the change, or as it is when there was nothing to change') }
const SEEN: readonly ErrorCode[] = ['not_found', 'forbidden']
const NEEDS_COMPUTE: readonly ErrorCode[] = ['session_elsewhere', 'session_held', 'quota_exceeded', 'capacity_exhausted']

export function steeringRoutes({ steering }: { readonly steering: Steering }): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: '/v1/sessions/{id}/refresh',
      summary: 'Count as activity, and move the lease',
      authorization: 'refresh',
      params: OneId,
      body: RefreshSessionBody,
      answers: ANSWERS,
      errors: [...SEEN, 'session_closed'],
      isRepeatable: true,
      async handle({ caller, params, body }) {
        const leaseMs = body.lease_seconds === undefined ? undefined : body.lease_seconds * 1000
        return shown(await steering.refresh(caller, params.id, { leaseMs, allowShorten: body.allow_shorten }))
      },
    }),
    route({
      method: 'POST',
      path: '/v1/sessions/{id}/suspend',
      summary: 'Give up the sandbox and keep the workspace; executions that received a credential are ended first',
      authorization: 'suspend',
      params: OneId,
      body: SuspendSessionBody,
      answers: ANSWERS,
      errors: [...SEEN, 'session_closed', 'session_busy', 'session_held', 'invalid_state', 'session_elsewhere'],
      isRepeatable: true,
      handle: async ({ caller, params, body: { keep_credentials: keepCredentials, keep_running: keepRunning } }) =>
        shown(await steering.suspend(caller, params.id, { keepCredentials, keepRunning })),
    }),
    route({
      method: 'POST',
      path: '/v1/sessions/{id}/resume',
      summary: 'Ask for a sandbox again; the answer does not wait for it',
      authorization: 'resume',
      params: OneId,
      answers: ANSWERS,
      errors: [...SEEN, 'session_closed', 'invalid_state', ...NEEDS_COMPUTE],
      isRepeatable: true,
      handle: async ({ caller, params }) => shown(await steering.resume(caller, params.id)),
    }),
    route({
      method: 'POST',
      path: '/v1/sessions/{id}/cancel-work',
      summary: 'Kill what runs; the session lives on',
      authorization: 'cancel-work',
      params: OneId,
      body: CancelWorkBody,
      answers: { 200: json('Killed', KilledView, 'What was ended') },
      errors: [...SEEN, 'session_closed', 'session_elsewhere'],
      isRepeatable: true,
      async handle({ caller, params, body: { processes, grace_ms: graceMs } }) {
        const killed = await steering.cancelWork(caller, params.id, { processes, ...(graceMs === undefined ? {} : { graceMs }) })
        return { status: 200, body: killed }
      },
    }),
    route({
      method: 'POST',
      path: '/v1/sessions/{id}/cancel',
      summary: 'End the session and kill what runs; one that has ended is answered with its record',
      authorization: 'cancel',
      params: OneId,
      answers: ANSWERS,
      errors: SEEN,
      isRepeatable: true,
      handle: async ({ caller, params }) => shown(await steering.cancel(caller, params.id)),
    }),
    route({
      method: 'POST',
      path: '/v1/sessions/{id}/release',
      summary: 'End the session after its work; one that has ended is answered with its record',
      authorization: 'release',
      params: OneId,
      body: ReleaseSessionBody,
      answers: ANSWERS,
      errors: [...SEEN, 'session_busy'],
      isRepeatable: true,
      async handle({ caller, params, body: { if_busy: ifBusy, drain_seconds: drain, workspace } }) {
        const drainMs = drain === undefined ? undefined : drain * 1000
        return shown(await steering.release(caller, params.id, { ifBusy, drainMs, workspace }))
      },
    }),
    route({
      method: 'POST',
      path: '/v1/sessions/{id}/home/reset',
      summary: 'Give up the sandbox and empty the home; the workspace stays. Refused while something runs, unless if_busy says kill',
      authorization: 'files',
      params: OneId,
      body: ResetHomeBody,
      answers: ANSWERS,
      errors: [...SEEN, 'session_closed', 'session_busy', 'session_held', 'invalid_state', 'session_elsewhere'],
      handle: async ({ caller, params, body }) => shown(await steering.resetHome(caller, params.id, body.if_busy)),
    }),
    route({
      method: 'POST',
      path: '/v1/sessions/{id}/hold',
      summary: 'Keep the session from working and from idling out, until it is let go',
      authorization: 'hold',
      params: OneId,
      body: HoldSessionBody,
      answers: ANSWERS,
      errors: SEEN,
      isRepeatable: true,
      handle: async ({ caller, params, body }) => shown(await steering.hold(caller, params.id, body.reason ?? null)),
    }),
    route({
      method: 'POST',
      path: '/v1/sessions/{id}/unhold',
      summary: 'Let a held session go',
      authorization: 'hold',
      params: OneId,
      answers: ANSWERS,
      errors: SEEN,
      isRepeatable: true,
      handle: async ({ caller, params }) => shown(await steering.unhold(caller, params.id)),
    }),
    route({
      method: 'POST',
      path: '/v1/sessions/{id}/transfer',
      summary: 'Give the session to somebody else of the tenant; without admin_exec its owner has to accept first',
      authorization: 'transfer',
      params: OneId,
      body: TransferSessionBody,
      ifMatch: 'required',
      answers: { 200: ANSWERS[200], 202: json('Session', SessionRecord, 'The session, whose owner is asked: pending_transfer') },
      errors: [...SEEN, 'session_closed', 'version_conflict', 'name_taken', 'invalid_state', 'session_elsewhere'],
      async handle({ caller, params, body, ifMatch }) {
        const wished = { owner: body.owner, ownerGroup: body.owner_group, expectedVersion: requiredVersion(ifMatch) }
        const given = await steering.transfer(caller, params.id, wished, body.keep_running)
        return given.session.pendingTransfer === null ? shownGiven(given) : { ...shownGiven(given), status: 202 as const }
      },
    }),
    route({
      method: 'POST',
      path: '/v1/sessions/{id}/transfer/accept',
      summary: 'Accept a transfer that an administrator asked for, by naming the new owner',
      authorization: 'accept-transfer',
      params: OneId,
      body: AcceptTransferBody,
      answers: ANSWERS,
      errors: [...SEEN, 'session_closed', 'version_conflict', 'name_taken', 'invalid_state', 'session_elsewhere'],
      handle: async ({ caller, params, body: { owner, owner_group: ownerGroup, keep_running: keepRunning } }) =>
        shownGiven(await steering.acceptTransfer(caller, params.id, { owner, ownerGroup }, keepRunning)),
    }),
    route({
      method: 'POST',
      path: '/v1/sessions/{id}/transfer/reject',
      summary: 'Reject a transfer that waits for consent, or take the request back',
      authorization: 'reject-transfer',
      params: OneId,
      answers: ANSWERS,
      errors: SEEN,
      isRepeatable: true,
      handle: async ({ caller, params }) => shown(await steering.rejectTransfer(caller, params.id)),
    }),
  ]
}

function shownGiven({ session, keptRunning }: Transferred) {
  const { status, body, headers } = shown(session)
  return { status, body: keptRunning.length === 0 ? body : { ...body, kept_running: [...keptRunning] }, headers }
}

function shown(session: SessionRow) {
  return { status: 200 as const, body: sessionRecord(session), headers: etag(session) }
}
