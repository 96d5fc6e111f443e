/**
 * Commands, sessions and managed processes of one workspace.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { BoxError, BoxManagedProcessSpec, BoxSpec, DEFAULT_PROCESS_ID } from '@holdfast/protocol/box'
import { needField, readData, textField } from './action.ts'
import type { Call, TenantActions } from './action.ts'
import type { BoxRuntime } from './runtime.ts'
import { sessionIdOf, withCallersIds } from './session-ids.ts'
import { shownIdOf } from './tenant.ts'
import type { BoxTenant } from './tenant.ts'

export function sessionActions(runtime: BoxRuntime): TenantActions {
  return {
    box_exec: async (tenant, { data, signal }) => {
      const spec = specOf(tenant, data)
      if (spec.cmd === '') throw new BoxError('BoxValidationError', 'cmd: must not be empty')
      return withCallersIds(tenant, await runtime.exec(tenant, spec, signal))
    },
    box_create_session: async (tenant, { data, signal }) =>
      withCallersIds(tenant, await runtime.createSession(tenant, specOf(tenant, data), signal)),
    box_get_session: async (tenant, { data }) => withCallersIds(tenant, await runtime.getSession(tenant, sessionIdOf(tenant, data))),
    box_get_sessions: async (tenant) => withCallersIds(tenant, { sessions: await runtime.getSessions(tenant) }),
    box_delete_session: async (tenant, { data }) => {
      await runtime.deleteSession(tenant, sessionIdOf(tenant, data))
      return { deleted: data['session_id'] }
    },
    box_start_managed_process: async (tenant, { data, signal }) => {
      const id = sessionIdOf(tenant, data)
      const spec = readData(BoxManagedProcessSpec, needField(data, 'spec'))
      return withCallersIds(tenant, await runtime.startProcess(tenant, id, spec, signal))
    },
    box_get_managed_process: async (tenant, { data }) =>
      withCallersIds(tenant, await runtime.getProcess(tenant, sessionIdOf(tenant, data), processIdOf(data))),
    box_stop_managed_process: async (tenant, { data }) => {
      const processId = processIdOf(data)
      await runtime.stopProcess(tenant, sessionIdOf(tenant, data), processId)
      return { stopped: processId }
    },
  }
}

function specOf(tenant: BoxTenant, data: Call['data']): BoxSpec {
  const spec = readData(BoxSpec, data)
  shownIdOf(tenant, spec.session_id)
  return spec
}

function processIdOf(data: Call['data']): string {
  return Object.hasOwn(data, 'process_id') ? textField(data, 'process_id') : DEFAULT_PROCESS_ID
}
