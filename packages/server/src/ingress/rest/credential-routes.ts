/**
 * `/v1/sessions/{id}/credentials`: secrets lent to one session. No answer contains a value.
 */
import { CredentialList, CredentialView, PutCredentialBody, RemoveCredentialQuery, RemovedCredentialView } from '@holdfast/protocol'
import { credentialPath } from '../../sessions/credentials/credential-files.ts'
import type { Credentials } from '../../sessions/credentials/credentials.ts'
import type { LentCredential } from '../../store/tables/sessions.ts'
import { moment, momentOrNull } from './moment.ts'
import { CredentialNames, OneId } from './paths.ts'
import { json, route } from './route.ts'
import type { Route } from './route.ts'

export function credentialRoutes({ credentials }: { readonly credentials: Credentials }): readonly Route[] {
  return [
    route({
      method: 'PUT',
      path: '/v1/sessions/{id}/credentials/{name}',
      summary: 'Lend a secret to the session, or replace it; executions that start from now on receive it',
      authorization: 'exec',
      params: CredentialNames,
      body: PutCredentialBody,
      answers: {
        200: json('Credential', CredentialView, 'It was replaced for the next execution'),
        201: json('Credential', CredentialView, 'It was created'),
      },
      errors: ['not_found', 'forbidden', 'session_closed', 'quota_exceeded', 'invalid_state'],
      async handle({ caller, params, body: { value, as, on_suspend: onSuspend } }) {
        const put = await credentials.put(caller, params.id, { name: params.name, value, as, onSuspend })
        const body = credentialView(params.id, put)
        return put.replacedAt === null ? { status: 201, body } : { status: 200, body }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/sessions/{id}/credentials',
      summary: 'List the credentials of a session, without their values',
      authorization: 'read',
      params: OneId,
      answers: { 200: json('CredentialList', CredentialList, 'By name') },
      errors: ['not_found'],
      async handle({ caller, params }) {
        const lent = await credentials.list(caller, params.id)
        return { status: 200, body: { items: lent.map((credential) => credentialView(params.id, credential)) } }
      },
    }),
    route({
      method: 'DELETE',
      path: '/v1/sessions/{id}/credentials/{name}',
      summary: 'End the executions that received a credential, and remove it from the sandbox and the server',
      authorization: 'cancel-work',
      params: CredentialNames,
      query: RemoveCredentialQuery,
      answers: { 200: json('RemovedCredential', RemovedCredentialView, 'It is gone') },
      errors: ['not_found', 'forbidden', 'session_closed', 'session_elsewhere'],
      async handle({ caller, params, query }) {
        const { ended, keptRunning } = await credentials.remove(caller, params.id, params.name, query.keep_running)
        return { status: 200, body: { name: params.name, ended, kept_running: keptRunning } }
      },
    }),
  ]
}

function credentialView(sessionId: string, { name, as, bytes, onSuspend, removal, createdAt, replacedAt }: LentCredential): CredentialView {
  return {
    ...{ name, as, bytes, on_suspend: onSuspend },
    path: as === 'file' ? credentialPath(sessionId, name) : null,
    removing: removal !== null,
    created_at: moment(createdAt),
    replaced_at: momentOrNull(replacedAt),
  }
}
