/**
 * Where each part of the view is taken from: a private directory that the launcher fills, or a descriptor that it opened.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * Either way the launcher opens every source without following a symbolic link, so what was checked is what is mounted.
 * `directory` is for a jail program that runs as another user than the server or cannot bind descriptors.
 */
import { HoldfastError } from '@holdfast/protocol'
import { exchangedOwners } from '../owner-map.ts'
import type { ViewEntry } from './filesystem-view.ts'

/** In the launcher's own mount namespace only; any directory that every Linux host has. */
const STAGING_DIRECTORY = '/mnt'
/** `FD_FIRST_SOURCE` and `MAX_SOURCES` in `guest/launcher/plan.h`. */
const FIRST_DESCRIPTOR = 10
const MAX_SOURCES = 256

export type Staging =
  | {
      readonly kind: 'as-root' | 'in-user-namespace'
      readonly owners: Readonly<Record<'user' | 'root', number>>
      /** Whether mounts can show files of one user as those of another; only root can make such a mount. */
      readonly mapsOwners: boolean
      /** The owner map of overlays, in lines (`owner-map.ts`); `null` where there are none. */
      readonly overlayOwners: string | null
    }
  | { readonly kind: 'descriptors' }

export type PlacedEntry =
  | {
      readonly kind: 'bind'
      readonly from: { readonly path: string } | { readonly descriptor: number }
      readonly target: string
      readonly mode: 'ro' | 'rw'
    }
  | Exclude<ViewEntry, { kind: 'bind' | 'overlay' }>

export interface StagedView {
  readonly launcherFlags: readonly string[]
  readonly entries: readonly PlacedEntry[]
}

export function stageView(view: readonly ViewEntry[], staging: Staging): StagedView {
  const staged = staging.kind === 'descriptors' ? asDescriptors(view) : inDirectory(view, staging)
  const sources = view.filter(
    ({ kind }) => kind === 'bind' || kind === 'overlay' || (kind === 'tmpfs' && staging.kind !== 'descriptors'),
  ).length
  if (sources > MAX_SOURCES)
    throw new HoldfastError('capability_unsupported', `${sources} mounts are more than the ${MAX_SOURCES} that one sandbox can have`)
  return staged
}

function asDescriptors(view: readonly ViewEntry[]): StagedView {
  const binds = view.filter((entry) => entry.kind === 'bind')
  const entries = view.map((entry): PlacedEntry => {
    if (entry.kind === 'overlay') throw new HoldfastError('internal', 'an overlay cannot be handed over as a descriptor')
    if (entry.kind !== 'bind') return entry
    return { kind: 'bind', from: { descriptor: FIRST_DESCRIPTOR + binds.indexOf(entry) }, target: entry.target, mode: entry.mode }
  })
  return { launcherFlags: binds.flatMap(sourceFlag), entries }
}

interface StagedSource {
  readonly index: number
  readonly target: string
}

/**
 * A mount inside another is bound there by the launcher, which makes the mount point without following a link that a
 * program in a sandbox may have left in it; the jail program then sees both as one tree.
 */
function inDirectory(view: readonly ViewEntry[], staging: Exclude<Staging, { kind: 'descriptors' }>): StagedView {
  const launcherFlags: string[] = [`--stage-${staging.kind}`, STAGING_DIRECTORY]
  const entries: PlacedEntry[] = []
  const staged: StagedSource[] = []
  let next = 0
  for (const entry of view) {
    if (entry.kind !== 'bind' && entry.kind !== 'tmpfs' && entry.kind !== 'overlay') {
      entries.push(entry)
      continue
    }
    const index = next++
    const parent = entry.kind === 'tmpfs' ? undefined : findParent(staged, entry.target)
    launcherFlags.push(...stagedFlags(entry, staging))
    if (parent === undefined) {
      staged.push({ index, target: entry.target })
      const mode = entry.kind === 'bind' ? entry.mode : 'rw'
      entries.push({ kind: 'bind', from: { path: `${STAGING_DIRECTORY}/${index}` }, target: entry.target, mode })
    } else {
      launcherFlags.push('--below', String(parent.index), entry.target.slice(parent.target.length + 1))
    }
  }
  return { launcherFlags, entries }
}

/** The earlier source in the staging directory that holds the target. What lies in it may be mounted there too, and is walked through. */
function findParent(staged: readonly StagedSource[], target: string): StagedSource | undefined {
  return staged.find((source) => target.startsWith(`${source.target}/`))
}

function stagedFlags(
  entry: Extract<ViewEntry, { kind: 'bind' | 'tmpfs' | 'overlay' }>,
  { owners, mapsOwners, overlayOwners }: Exclude<Staging, { kind: 'descriptors' }>,
): readonly string[] {
  if (entry.kind === 'tmpfs') return tmpfsFlag(entry, owners[entry.owner])
  if (entry.kind === 'overlay') {
    if (overlayOwners === null) throw new HoldfastError('internal', 'only root can mount an overlay with mapped owners')
    return ['--overlay', entry.source, entry.layer, '--owner-map', overlayOwners]
  }
  const isMapped = mapsOwners && entry.owner !== undefined && entry.owner !== owners.user
  return [...sourceFlag(entry), ...(isMapped ? ['--owner-map', exchangedOwners(entry.owner, owners.user)] : [])]
}

function sourceFlag(entry: Extract<ViewEntry, { kind: 'bind' }>): readonly string[] {
  return [`--source-${entry.mode}`, entry.source]
}

/** As many files as pages: without a bound, empty files alone would take half of the host's memory. */
function tmpfsFlag(entry: Extract<ViewEntry, { kind: 'tmpfs' }>, owner: number): readonly string[] {
  const files = Math.max(1024, Math.ceil(entry.sizeBytes / 4096))
  return ['--tmpfs', `size=${entry.sizeBytes},nr_inodes=${files},mode=${entry.permissions},uid=${owner},gid=${owner}`]
}
