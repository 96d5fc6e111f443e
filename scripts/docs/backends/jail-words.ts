/** What the probes of nsjail and bubblewrap say about hosts that have everything, or lack something. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Capabilities } from '../../../packages/server/src/sandboxes/backend.ts'
import { probeBubblewrap } from '../../../packages/server/src/sandboxes/backends/bubblewrap/bubblewrap-probe.ts'
import { findCgroups } from '../../../packages/server/src/sandboxes/backends/jail/cgroup-layout.ts'
import type { CgroupLayout } from '../../../packages/server/src/sandboxes/backends/jail/cgroup-layout.ts'
import type { JailProbe } from '../../../packages/server/src/sandboxes/backends/jail/jail-backend.ts'
import { findNetwork, jailCapabilities } from '../../../packages/server/src/sandboxes/backends/jail/jail-host.ts'
import type { JailHost } from '../../../packages/server/src/sandboxes/backends/jail/jail-host.ts'
import { NOT_ROOT } from '../../../packages/server/src/sandboxes/backends/overlay-trial.ts'
import { explainRefusal } from '../../../packages/server/src/sandboxes/backends/jail/userns-refusal.ts'
import { ONE_LAYOUT, probeNsjail } from '../../../packages/server/src/sandboxes/backends/nsjail/nsjail-probe.ts'
import { NOWHERE } from './words.ts'
import type { BackendWords, Refusal } from './words.ts'

const NEEDS = { serverId: 'srv', stateDir: NOWHERE, guestPath: '/bin/sh', launcherPath: '/bin/sh' }
const PLACE = { version: 2, parent: '/sys/fs/cgroup/holdfast-srv' } as const
/** One hierarchy for each controller, none of which can be written. */
const VERSION_1 = ['memory', 'pids', 'cpu'].map((name) => `30 25 0:26 / ${NOWHERE}/${name} rw - cgroup cgroup rw,${name}`).join('\n')
const EVERYTHING: JailHost = {
  isRoot: true,
  cgroups: { memory: PLACE, pids: PLACE, cpu: PLACE },
  network: { program: '/usr/bin/slirp4netns' },
  packingProblem: null,
  writableRootProblem: null,
  rootUserProblem: null,
}

export async function nsjailWords(packing: string | null): Promise<BackendWords> {
  const { probe } = await probeNsjail(NEEDS, { searchPath: NOWHERE })
  return {
    kind: 'nsjail',
    ...capabilities(packing, ONE_LAYOUT),
    refusals: [...unavailable(probe), ...withoutNamespaces('/usr/bin/nsjail')],
  }
}

export async function bubblewrapWords(packing: string | null): Promise<BackendWords> {
  const { probe } = await probeBubblewrap(NEEDS, { searchPath: NOWHERE })
  const refusals = [...unavailable(probe), ...unavailable(await oldBubblewrap()), ...withoutNamespaces('/usr/bin/bwrap')]
  return { kind: 'bubblewrap', ...capabilities(packing, null), refusals }
}

function capabilities(
  packing: string | null,
  rootUserProblem: string | null,
): { readonly best: Capabilities; readonly lacking: readonly Capabilities[] } {
  const lacking: readonly Partial<JailHost>[] = [
    { isRoot: false, packingProblem: packing, writableRootProblem: NOT_ROOT, rootUserProblem: rootUserProblem ?? NOT_ROOT },
    { cgroups: cgroupsOf('') },
    { cgroups: cgroupsOf(VERSION_1) },
    { cgroups: cgroupsOf(VERSION_1, true) },
    { network: findNetwork(true, NOWHERE) },
  ]
  const all = { ...EVERYTHING, rootUserProblem }
  return { best: jailCapabilities(all), lacking: lacking.map((lack) => jailCapabilities({ ...all, ...lack })) }
}

function cgroupsOf(mountinfo: string, isRoot = false): CgroupLayout {
  return findCgroups('srv', { isRoot, mountinfo, selfCgroup: '0::/\n' })
}

/** One whose help knows nothing of what is needed. */
async function oldBubblewrap(): Promise<JailProbe['probe']> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-old-'))
  try {
    writeFileSync(
      join(directory, 'bwrap'),
      '#!/bin/sh\necho "    --info-fd FD  --cap-add CAP  --json-status-fd FD  --userns-block-fd FD  --as-pid-1  --perms OCTAL  --size BYTES"\n',
    )
    chmodSync(join(directory, 'bwrap'), 0o755)
    const { probe } = await probeBubblewrap(NEEDS, { searchPath: directory })
    return probe.available ? probe : { ...probe, reason: probe.reason.replace(directory, '/usr/bin') }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** The reasons why a host lets nobody make a user namespace. */
function withoutNamespaces(programPath: string): readonly Refusal[] {
  const evidence = {
    programPath,
    complaint: '…',
    apparmorRestricts: false,
    maxUserNamespaces: null,
    cloneForbidden: false,
    inContainer: false,
  }
  const kinds = [{ maxUserNamespaces: 0 }, { cloneForbidden: true }, { apparmorRestricts: true }, { inContainer: true }, {}]
  return kinds.map((kind) => ({ available: false, ...explainRefusal({ ...evidence, ...kind }) }))
}

function unavailable(probe: JailProbe['probe']): readonly Refusal[] {
  return probe.available ? [] : [probe]
}
