/**
 * What the operator says about the Box door, and what may not be said together.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { resolve } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import { parseFrame } from '@holdfast/protocol/box'
import { z } from 'zod'
import { isLoopback } from '../../access/listen-address.ts'

export interface BoxSettings {
  readonly isEnabled: boolean
  /** `null`: whoever reaches the server may speak; on loopback only. */
  readonly token: string | null
  /** The LangBot instance that is served; `null`: the first one that comes. */
  readonly instance: string | null
  /** The Holdfast tenant of everything that comes in here, by name or id. */
  readonly tenant: string
  /** Where the workspaces that clients name are made; `null`: sessions have their own. */
  readonly hostRoot: string | null
  /** Images that clients name are passed over where the backend runs none. */
  readonly ignoresImages: boolean
  /** JSON: what `box_init` is given at the start. */
  readonly config: string | null
}

const NamedHostRoot = z.object({ local: z.object({ host_root: z.string().trim().min(1).max(4096) }) })

/** Throws `config_invalid` for a door that would offer command execution to the network without a token. */
export function checkBoxSettings({ isEnabled, token }: BoxSettings, host: string): void {
  if (!isEnabled || token !== null || isLoopback(host)) return
  throw new HoldfastError(
    'config_invalid',
    `refusing to open the Box door on ${host} without a token: set HOLDFAST_BOX_CONTROL_TOKEN, or listen on loopback`,
    { host },
  )
}

/** Throws `config_invalid`: a client that has a token is one that has an instance, and it has to be known before the pipe is read. */
export function checkStdioSettings({ token, instance }: BoxSettings): void {
  if (token === null || instance !== null) return
  throw new HoldfastError('config_invalid', 'box.instance must be set for a client on stdio that has a token: HOLDFAST_BOX_INSTANCE')
}

/** The section to begin with; `null` when there is none or it is no object, which is no reason not to start. */
export function initialConfig({ config }: BoxSettings): Readonly<Record<string, unknown>> | null {
  return config === null ? null : parseFrame(config)
}

/** `local.host_root` of the section to begin with, from where the server was started, as the original reads it; `null`: it names none. */
export function namedHostRoot(config: string | null): string | null {
  const named = NamedHostRoot.safeParse(config === null ? null : parseFrame(config))
  return named.success ? resolve(named.data.local.host_root) : null
}
