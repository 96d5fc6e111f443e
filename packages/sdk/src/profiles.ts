/**
 * Profiles: the named sets of values that sandboxes can be made with. Those that a tenant stores can be changed here; the others are
 * built in or come from the configuration file, and are read-only.
 */
import type { ProfileList, ProfileView } from '@holdfast/protocol'
import { callOf } from './call-options.ts'
import type { CallOptions } from './call-options.ts'
import { ifMatch } from './session.ts'
import type { Transport } from './transport/transport.ts'
import { camel, snake } from './wire-names.ts'

/** Where a profile or a pipeline comes from, and which version it has. */
export interface DefinitionFacts {
  /** Only those of a `tenant` can be changed over the API. */
  readonly source: 'built-in' | 'configuration' | 'tenant'
  readonly readOnly: boolean
  /** `null` for what is read-only; so are the times. */
  readonly version: number | null
  readonly createdAt: string | null
  readonly updatedAt: string | null
}

export interface Profile extends DefinitionFacts {
  readonly name: string
  readonly builtIn: boolean
  /** Whether sandboxes can be made with it there; `reason` says why not. */
  readonly usable: boolean
  readonly reason: string | null
  /** `null`: the server's. */
  readonly image: string | null
  readonly network: 'off' | 'on'
  readonly rootfs: 'read-only' | 'writable'
  readonly home: 'persistent' | 'ephemeral'
  readonly user: 'user' | 'root'
  readonly workspaceMode: 'rw' | 'ro' | 'none'
  readonly limits: {
    readonly cpus: number | null
    readonly memoryBytes: number | null
    readonly pids: number | null
    /** `null`: the server's. */
    readonly workspaceBytes: number | null
  }
  /** Of a command that names none. */
  readonly timeoutMs: number
  /** No command gets more. */
  readonly maxTimeoutMs: number
  /** Fields of a request that take no other value. */
  readonly locked: readonly string[]
}

/** What is left out is the server's setting at the time a session is made. */
export interface ProfileSettings {
  readonly image?: string | undefined
  readonly network?: 'off' | 'on' | undefined
  readonly rootfs?: 'read-only' | 'writable' | undefined
  readonly home?: 'persistent' | 'ephemeral' | undefined
  readonly user?: 'user' | 'root' | undefined
  readonly workspaceMode?: 'rw' | 'ro' | 'none' | undefined
  /** `null`: no limit. */
  readonly limits?:
    | {
        readonly cpus?: number | null | undefined
        readonly memoryBytes?: number | null | undefined
        readonly pids?: number | null | undefined
        readonly workspaceBytes?: number | undefined
      }
    | undefined
  readonly timeoutMs?: number | undefined
  readonly maxTimeoutMs?: number | undefined
  /** Such as `network` or `limits.memory_bytes`. Only a platform administrator can loosen one again. */
  readonly locked?: readonly string[] | undefined
}

export interface Profiles {
  /** Taken where a request names none; `null`: then the server's own settings hold. */
  readonly default: string | null
  readonly items: readonly Profile[]
}

/** `profiles()` lists all of them. */
export interface ProfilesApi {
  (options?: CallOptions): Promise<Profiles>
  get(name: string, options?: CallOptions): Promise<Profile>
  create(name: string, settings: ProfileSettings, options?: CallOptions): Promise<Profile>
  /** Replaces all settings, if the profile still has this version. Sessions that exist keep what they were made with. */
  replace(name: string, settings: ProfileSettings, options: CallOptions & { readonly ifVersion: number }): Promise<Profile>
  /** Fails with `profile_in_use` while a pipeline names it. */
  remove(name: string, options?: CallOptions & { readonly ifVersion?: number | undefined }): Promise<void>
}

export function createProfiles(transport: Transport): ProfilesApi {
  const pathOf = (name: string) => `/v1/profiles/${encodeURIComponent(name)}`
  const one = async (asking: Promise<ProfileView>) => profileOf(await asking)

  async function list(options: CallOptions = {}): Promise<Profiles> {
    const items: Profile[] = []
    let token: string | null = null
    for (;;) {
      const query: Record<string, string> = token === null ? {} : { page_token: token }
      const page: ProfileList = await transport.json<ProfileList>({ path: '/v1/profiles', query, ...callOf(options) })
      items.push(...page.items.map(profileOf))
      token = page.next_page_token
      if (token === null) return { default: page.default, items }
    }
  }

  return Object.assign(list, {
    get: (name: string, options: CallOptions = {}) => one(transport.json({ path: pathOf(name), ...callOf(options) })),
    create: (name: string, settings: ProfileSettings, options: CallOptions = {}) =>
      one(transport.json({ method: 'POST', path: '/v1/profiles', json: { name, ...settingsBody(settings) }, ...callOf(options) })),
    replace: (name: string, settings: ProfileSettings, { ifVersion, ...options }: CallOptions & { readonly ifVersion: number }) => {
      const request = { method: 'PUT', path: pathOf(name), headers: ifMatch(ifVersion) } as const
      return one(transport.json({ ...request, json: settingsBody(settings), ...callOf(options) }))
    },
    remove: (name: string, { ifVersion, ...options }: CallOptions & { readonly ifVersion?: number | undefined } = {}) => {
      const headers = ifVersion === undefined ? {} : { headers: ifMatch(ifVersion) }
      return transport.send({ method: 'DELETE', path: pathOf(name), ...headers, ...callOf(options) })
    },
  })
}

function settingsBody({ limits, ...settings }: ProfileSettings): object {
  return { ...snake(settings), ...(limits === undefined ? {} : { limits: snake(limits) }) }
}

function profileOf(wire: ProfileView): Profile {
  return { ...camel(wire), limits: camel(wire.limits) }
}
