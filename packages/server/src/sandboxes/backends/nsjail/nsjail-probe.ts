/**
 * Is nsjail here and allowed to work? Found out by looking and by really running it.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import type { BackendNeeds, Probe } from '../../backend.ts'
import { findCgroups } from '../jail/cgroup-layout.ts'
import type { ViewEntry } from '../jail/filesystem-view.ts'
import type { JailProbe, JailShape } from '../jail/jail-backend.ts'
import { findNetwork, findProgram, jailCapabilities, type JailHost, type JailSettings } from '../jail/jail-host.ts'
import { COMMAND_USER, hidingFlags, stagingAsRoot } from '../jail/jail-user.ts'
import { missingFile } from '../jail/needed-files.ts'
import { stageView } from '../jail/staging.ts'
import { tryProgram } from '../jail/trial.ts'
import { writableRootProblem } from '../overlay-trial.ts'
import { explainRefusal, gatherEvidence } from '../jail/userns-refusal.ts'
import { packingProblem } from '../packing-trial.ts'
import { nsjailFlags, type JailIdentity } from './nsjail-flags.ts'

/** Every namespace, as the sandboxes do it. */
const TRIAL_ARGUMENTS = [
  '--mode',
  'o',
  '--really_quiet',
  '--time_limit',
  '5',
  '--disable_rlimits',
  '--nice_level',
  '0',
  '--chroot',
  '/',
  '--',
  '/bin/sh',
  '-c',
  ':',
]

export const ONE_LAYOUT = 'nsjail gives its first process uid 0, which the guest needs; choose bubblewrap or podman'

export async function probeNsjail(needs: BackendNeeds, settings: JailSettings, signal?: AbortSignal): Promise<JailProbe> {
  const path = findProgram('nsjail', settings.searchPath)
  if (path === null)
    return unavailable('nsjail is not installed', 'install nsjail (https://github.com/google/nsjail) so that it is on the PATH')
  const missing = missingFile(needs)
  if (missing !== null) return { probe: missing, jail: null }
  const trial = await tryProgram(path, TRIAL_ARGUMENTS, signal === undefined ? {} : { signal })
  if (!trial.succeeded) {
    const { reason, fix } = explainRefusal(gatherEvidence(trial.output, path))
    return unavailable(reason, fix)
  }
  const identity = { isRoot: process.geteuid?.() === 0, uid: process.geteuid?.() ?? COMMAND_USER, gid: process.getegid?.() ?? COMMAND_USER }
  const host: JailHost = {
    isRoot: identity.isRoot,
    cgroups: findCgroups(needs.serverId),
    network: findNetwork(identity.isRoot, settings.searchPath),
    packingProblem: await packingProblem(needs.launcherPath, signal),
    writableRootProblem: await writableRootProblem(needs, '/usr', signal),
    rootUserProblem: ONE_LAYOUT,
  }
  // nsjail has no flag that tells its version.
  const probe: Probe = { available: true, version: 'unknown', capabilities: jailCapabilities(host) }
  return { probe, jail: { host, render: (view, shape) => render(path, identity, view, shape) } }
}

function render(path: string, identity: JailIdentity, view: readonly ViewEntry[], shape: JailShape) {
  const staged = stageView(
    view,
    identity.isRoot
      ? stagingAsRoot(shape)
      : { kind: 'in-user-namespace', owners: { user: identity.uid, root: identity.uid }, mapsOwners: false, overlayOwners: null },
  )
  return {
    stagingFlags: staged.launcherFlags,
    jailFlags: ['--init-from', 'children', ...hidingFlags(shape)],
    argv: [path, ...nsjailFlags(staged.entries, identity, shape)],
  }
}

function unavailable(reason: string, fix: string): JailProbe {
  return { probe: { available: false, reason, fix }, jail: null }
}
