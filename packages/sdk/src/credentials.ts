/**
 * Credentials of a session: secrets that only this session's executions receive. Values go to the server and never come back.
 */
import type { CredentialView, RemovedCredentialView } from '@holdfast/protocol'
import { callOf } from './call-options.ts'
import type { CallOptions } from './call-options.ts'
import { refuseUnknown } from './known-options.ts'
import type { OptionNames } from './known-options.ts'
import type { Transport } from './transport/transport.ts'
import { camel, snake } from './wire-names.ts'

/** `env`: the variable is the value. `file`: the variable holds the path of a file with it, mode 0600, in memory. */
export type CredentialForm = 'env' | 'file'

export interface CredentialRecord {
  readonly name: string
  readonly as: CredentialForm
  /** Inside the sandbox; `null` for an environment variable. */
  readonly path: string | null
  readonly bytes: number
  readonly onSuspend: 'remove' | 'keep'
  /** No further execution receives it; those that did are being ended. */
  readonly removing: boolean
  readonly createdAt: string
  readonly replacedAt: string | null
}

export interface PutCredentialOptions extends CallOptions {
  /** `env` unless given. */
  readonly as?: CredentialForm | undefined
  /** Whether it outlives a suspension of the session; `remove` unless given. */
  readonly onSuspend?: 'remove' | 'keep' | undefined
}

export interface RemoveCredentialOptions extends CallOptions {
  /** Leaves the executions that received it running. */
  readonly keepRunning?: boolean | undefined
}

export interface RemovedCredential {
  readonly name: string
  /** Ids of executions that received it and were ended. */
  readonly ended: readonly string[]
  /** Ids of those that run on, with `keepRunning`. */
  readonly keptRunning: readonly string[]
}

export interface Credentials {
  /** Creates or replaces it for executions that start from now on. The name is that of an environment variable. */
  put(name: string, value: string, options?: PutCredentialOptions): Promise<CredentialRecord>
  /** Without values. */
  list(options?: CallOptions): Promise<readonly CredentialRecord[]>
  /** Ends the executions that received it, and removes it from the sandbox. */
  remove(name: string, options?: RemoveCredentialOptions): Promise<RemovedCredential>
}

const PUT_OPTIONS: OptionNames<PutCredentialOptions> = { as: true, onSuspend: true, signal: true, timeoutMs: true }
const REMOVE_OPTIONS: OptionNames<RemoveCredentialOptions> = { keepRunning: true, signal: true, timeoutMs: true }

export function createCredentials(transport: Transport, sessionId: string): Credentials {
  const path = `/v1/sessions/${sessionId}/credentials`
  const pathOf = (name: string) => `${path}/${encodeURIComponent(name)}`
  return {
    async put(name, value, given = {}) {
      refuseUnknown('credentials.put', given, PUT_OPTIONS)
      const { as, onSuspend, ...options } = given
      const json = snake({ value, as, onSuspend })
      return camel(await transport.json<CredentialView>({ method: 'PUT', path: pathOf(name), json, ...callOf(options) }))
    },
    async list(options = {}) {
      const { items } = await transport.json<{ readonly items: readonly CredentialView[] }>({ path, ...callOf(options) })
      return items.map(camel)
    },
    async remove(name, given = {}) {
      refuseUnknown('credentials.remove', given, REMOVE_OPTIONS)
      const { keepRunning, ...options } = given
      const query = snake({ keepRunning })
      return camel(await transport.json<RemovedCredentialView>({ method: 'DELETE', path: pathOf(name), query, ...callOf(options) }))
    },
  }
}
