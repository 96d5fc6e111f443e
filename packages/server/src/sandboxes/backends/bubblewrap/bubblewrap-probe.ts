/**
 * Is bubblewrap here, new enough, and allowed to work? Found out by looking and by really running it.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { statSync } from 'node:fs'
import type { BackendNeeds, Probe } from '../../backend.ts'
import { findCgroups } from '../jail/cgroup-layout.ts'
import type { ViewEntry } from '../jail/filesystem-view.ts'
import type { JailProbe, JailShape } from '../jail/jail-backend.ts'
import { findNetwork, findProgram, jailCapabilities, type JailHost, type JailSettings } from '../jail/jail-host.ts'
import { hidingFlags, JAIL_USER, jailUserFlags, stagingAsRoot } from '../jail/jail-user.ts'
import { missingFile } from '../jail/needed-files.ts'
import { stageView } from '../jail/staging.ts'
import { tryProgram } from '../jail/trial.ts'
import { writableRootProblem } from '../overlay-trial.ts'
import { explainRefusal, gatherEvidence } from '../jail/userns-refusal.ts'
import { packingProblem } from '../packing-trial.ts'
import { bubblewrapFlags } from './bubblewrap-flags.ts'

/** `--bind-fd` is the newest: 0.10, and the security updates of older ones. */
const NEEDED_FLAGS = ['--as-pid-1', '--bind-fd', '--cap-add', '--info-fd', '--json-status-fd', '--perms', '--size', '--userns-block-fd']

export async function probeBubblewrap(needs: BackendNeeds, settings: JailSettings, signal?: AbortSignal): Promise<JailProbe> {
  const path = findProgram('bwrap', settings.searchPath)
  if (path === null) return unavailable('bwrap is not installed', 'run `apt-get install bubblewrap` (or your distribution’s equivalent)')
  const missing = missingFile(needs)
  if (missing !== null) return { probe: missing, jail: null }
  const options = signal === undefined ? {} : { signal }
  const { help, version } = await describeProgram(path)
  const lacking = missingFlags(help)
  if (lacking.length > 0)
    return unavailable(
      `${path} is too old: it lacks ${lacking.join(', ')}`,
      'update bubblewrap to 0.10 or to the newest security update of your distribution',
    )
  const isRoot = process.geteuid?.() === 0
  const trial = await tryProgram(path, TRIAL_ARGUMENTS, { ...options, ...(isRoot ? { uid: JAIL_USER } : {}) })
  if (!trial.succeeded) {
    const { reason, fix } = explainRefusal(gatherEvidence(trial.output, path))
    return unavailable(reason, fix)
  }
  const layerProblem = await writableRootProblem(needs, '/usr', signal)
  const host: JailHost = {
    isRoot,
    cgroups: findCgroups(needs.serverId),
    network: findNetwork(isRoot, settings.searchPath),
    packingProblem: await packingProblem(needs.launcherPath, signal),
    writableRootProblem: layerProblem,
    rootUserProblem: layerProblem,
  }
  const probe: Probe = { available: true, version: version.replace(/^bubblewrap /, ''), capabilities: jailCapabilities(host) }
  return { probe, jail: { host, render: (view, shape) => render(path, host.isRoot, view, shape) } }
}

interface Description {
  readonly help: string
  readonly version: string
}

const descriptions = new Map<string, Promise<Description>>()

/** What the program prints about itself, asked once for each file: every program that is started costs a fork of the whole server. */
function describeProgram(path: string): Promise<Description> {
  const { dev, ino, size, mtimeMs } = statSync(path)
  const key = [path, dev, ino, size, mtimeMs].join(':')
  const known = descriptions.get(key)
  if (known !== undefined) return known
  const asked = Promise.all([tryProgram(path, ['--help']), tryProgram(path, ['--version'])]).then(([help, version]) => {
    if (!help.succeeded || !version.succeeded) descriptions.delete(key)
    return { help: help.output, version: version.output }
  })
  descriptions.set(key, asked)
  return asked
}

/** As the sandboxes do it: every namespace, and the mounts that need rights in them. */
const TRIAL_ARGUMENTS = [
  '--unshare-all',
  '--unshare-user',
  '--ro-bind',
  '/',
  '/',
  '--proc',
  '/proc',
  '--dev',
  '/dev',
  '--tmpfs',
  '/tmp',
  '/bin/sh',
  '-c',
  ':',
]

export function missingFlags(help: string): readonly string[] {
  const words = new Set(help.split(/\s+/))
  return NEEDED_FLAGS.filter((flag) => !words.has(flag))
}

/** A server with subordinate ids starts a sandbox that has users as root does: the launcher is root over these ids. */
function render(path: string, isRoot: boolean, view: readonly ViewEntry[], shape: JailShape) {
  const hasUsers = isRoot || shape.users !== undefined
  const staged = stageView(view, hasUsers ? stagingAsRoot(shape) : { kind: 'descriptors' })
  const userFlags = hasUsers ? [...jailUserFlags(shape), ...(isRoot ? [] : CHARGED_TO_SERVER)] : []
  return {
    stagingFlags: staged.launcherFlags,
    jailFlags: ['--init-from', 'info-fd', ...userFlags, ...hidingFlags(shape)],
    argv: [path, ...bubblewrapFlags(staged.entries, shape, hasUsers)],
  }
}

/** The kernel charges namespaces to the user who made them, and to the one who made the namespace around: the server. */
const CHARGED_TO_SERVER = ['--charged-to', 'server']

function unavailable(reason: string, fix: string): JailProbe {
  return { probe: { available: false, reason, fix }, jail: null }
}
