/**
 * The backend port: make isolation, hand back a byte pipe to the guest, list, destroy.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * Commands, files and terminals are the guest protocol's, written once; a backend knows none of them. A power that
 * only some backends have is an optional facet, so that its absence is the capability answer.
 */
import type { Duplex } from 'node:stream'
import type { Log } from '../telemetry/log.ts'
import type { SandboxSpec } from './spec.ts'

export const BACKEND_KINDS = ['podman', 'docker', 'nsjail', 'bubblewrap'] as const
/** In the order of automatic choice. */
export type BackendKind = (typeof BACKEND_KINDS)[number]

export type CapabilityName = 'cpus' | 'memory' | 'pids' | 'networkOn' | 'images' | 'writableRoot' | 'rootUser' | 'severalUsers' | 'packing'

/** What this backend can do on this machine, as found by the probe. */
export interface Capabilities {
  readonly limits: { readonly cpus: boolean; readonly memory: boolean; readonly pids: boolean }
  readonly networkOn: boolean
  readonly images: boolean
  /** The sandbox's user may write below `/usr`, `/opt` and `/var`. */
  readonly writableRoot: boolean
  /** Commands may be root of the sandbox's own user namespace: `SandboxSpec.user`. */
  readonly rootUser: boolean
  /** The guest is another user than the commands, and commands may run as several users. */
  readonly severalUsers: boolean
  /** `SandboxSpec.packed` can be honoured: neighbours in one sandbox that see nothing of each other. */
  readonly packing: boolean
  /** For each `false` above: the reason and what would change it, in one sentence. */
  readonly reasons: Readonly<Partial<Record<CapabilityName, string>>>
}

export type Probe =
  | { readonly available: true; readonly version: string; readonly capabilities: Capabilities }
  | { readonly available: false; readonly reason: string; readonly fix: string }

/** Progress of long work, for people: 'pulling python:3.11-slim 40 %'. */
export type OnProgress = (line: string) => void

/** The images of a backend that runs them. */
export interface ImageFacet {
  /** The image is on the engine afterwards, pulled if need be; throws `image_missing`. */
  ensure(reference: string, signal?: AbortSignal, onProgress?: OnProgress): Promise<void>
}

/** Stops all processes of a sandbox at once, the guest among them, and lets them go on. */
export interface FreezerFacet {
  /** Resolves when they are stopped, or soon will be. `attach` and `destroy` undo it. */
  freeze(name: string): Promise<void>
  /** Safe for a sandbox that is not frozen or gone. */
  thaw(name: string): Promise<void>
}

/** Host users of a sandbox's own: `SandboxSpec.users`. */
export interface HostUsersFacet {
  /** Why the commands of this spec cannot have a host user of their own, or `null`. */
  problem(spec: SandboxSpec, signal?: AbortSignal): Promise<string | null>
  /** Whether files in this directory can be shown as those of another owner (`Mount.owner`); absent: never. */
  mapsOwners?(source: string): Promise<boolean>
}

/** Bytes in the TCP and UDP buffers of a sandbox that the server killed for it, and the limit that it passed. */
export interface TcpOverrun {
  readonly heldBytes: number
  readonly limitBytes: number
}

export interface SandboxBackend {
  readonly kind: BackendKind
  readonly freezer?: FreezerFacet
  /** Absent where no server like this one has users to give: it is not root, and the backend takes no subordinate ids. */
  readonly hostUsers?: HostUsersFacet
  /** Absent where sandboxes show the host's own `/usr`. */
  readonly images?: ImageFacet
  /** Available with its capabilities, or the exact reason and the fix. Never throws, changes nothing. */
  probe(signal?: AbortSignal): Promise<Probe>
  /** Throws `capability_unsupported`, `image_missing` or `backend_unavailable` unless the spec can be honoured exactly. Creates nothing. */
  check(spec: SandboxSpec, signal?: AbortSignal): Promise<void>
  /** Checks, then creates. `name` is chosen by the caller (`sbx_` + 16 of [0-9a-z]) so that a crash can be repaired by name. A failure leaves nothing behind. */
  create(name: string, spec: SandboxSpec, signal?: AbortSignal, onProgress?: OnProgress): Promise<Sandbox>
  /** The running sandbox of that name, e.g. after a restart. Throws `sandbox_gone`. */
  attach(name: string, signal?: AbortSignal): Promise<Sandbox>
  /** Every sandbox of this server id that this backend holds, running, dead or half made. Never another server's. */
  list(signal?: AbortSignal): Promise<readonly SandboxStatus[]>
  /** Removes everything of that name. Safe to call twice, for one half made, and for one that never was. */
  destroy(name: string): Promise<void>
  /** The cgroups that count what it uses; none where this server cannot see them. */
  cgroupsOf?(name: string): Promise<readonly string[]>
  /** Whether this server killed it because its TCP buffers were far beyond their limit; `null` for any other end. */
  overrunOf?(name: string): TcpOverrun | null
}

export interface SandboxStatus {
  readonly name: string
  readonly running: boolean
}

export interface Sandbox {
  readonly name: string
  readonly kind: BackendKind
  /** A new connection to the guest. */
  dial(signal?: AbortSignal): Promise<Duplex>
}

/** What every backend needs; given by the composition root. */
export interface BackendNeeds {
  /** Labels everything this server makes, so that several servers share an engine. */
  readonly serverId: string
  /** Directory of the server's own state; a backend keeps its files under `<stateDir>/sandboxes/<name>`. */
  readonly stateDir: string
  /** The static guest binary on this host. */
  readonly guestPath: string
  /** The host-side launcher (bubblewrap and nsjail). */
  readonly launcherPath: string
  readonly log?: Pick<Log, 'warn'>
}
