/**
 * Actions of the host: whether the server is there, what it is to be, and what it can do.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { BoxError, isBoxError, MARKER_NAME, readBoxLimits } from '@holdfast/protocol/box'
import type { BoxLimits } from '@holdfast/protocol/box'
import type { HostActions, TenantActions } from './action.ts'
import { boxClassOf } from './failure.ts'
import type { BoxRuntime } from './runtime.ts'

export interface ControlNeeds {
  readonly runtime: BoxRuntime
  /** What later connections and workspaces are bound by. */
  readonly setLimits: (limits: BoxLimits) => void
}

/**
 * Throws `BoxReadinessError` for a client that asks for grants: a server that has none would run what the client means to forbid. A section
 * that cannot be read asks for them too, as in the reference.
 */
function checkAdmission(section: unknown): void {
  if (section === undefined || section === null) return
  const required: unknown = typeof section === 'object' && 'required' in section ? section.required : undefined
  if (typeof section === 'object' && !Array.isArray(section) && (required === undefined || required === false)) return
  throw new BoxError('BoxReadinessError', 'admission: this server has no admission grants; set admission.required to false')
}

/** Everything that can be refused is checked before anything is changed. */
export async function initialise({ runtime, setLimits }: ControlNeeds, config: Readonly<Record<string, unknown>>): Promise<void> {
  checkAdmission(config['admission'])
  const limits = config['limits'] === undefined ? null : readBoxLimits(config['limits'])
  if (limits !== null) setLimits(limits)
  await runtime.init(config)
}

export function hostActions({ runtime, setLimits }: ControlNeeds): HostActions {
  const backendInfo = async () => runtime.backendInfo()
  const refuseGrant = async (): Promise<never> => {
    throw new BoxError('BoxAdmissionError', 'this server needs no grants, and takes none')
  }
  return {
    __ping: async () => ({}),
    __file_chunk: async ({ data, files }) => {
      await files.take(data)
      return {}
    },
    box_health: backendInfo,
    box_get_backend_info: backendInfo,
    box_init: async ({ data }) => {
      await initialise({ runtime, setLimits }, data)
      return { initialized: true }
    },
    box_shutdown: async () => {
      await runtime.shutdown()
      return {}
    },
    box_verify_shared_workspace: async ({ data }) => {
      const name = data['marker_name']
      if (typeof name !== 'string' || !MARKER_NAME.test(name))
        throw new BoxError('BoxReadinessError', 'marker_name: must be .langbot-box-volume-probe- and 32 hexadecimal digits')
      try {
        return await runtime.verifySharedWorkspace(name)
      } catch (cause) {
        if (isBoxError(cause, 'BoxReadinessError')) throw cause
        throw new BoxError('BoxReadinessError', `the marker cannot be read (${boxClassOf(cause)})`, {}, { cause })
      }
    },
    box_upsert_sandbox_admission_grant: refuseGrant,
    box_revoke_sandbox_admission_grant: refuseGrant,
  }
}

export function statusActions({ runtime }: Pick<ControlNeeds, 'runtime'>): TenantActions {
  return { box_status: async (tenant) => runtime.status(tenant), box_get_storage_analysis: async (tenant) => runtime.storage(tenant) }
}
