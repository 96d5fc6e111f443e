/**
 * The Box door and what it drives, put together over the sessions that are there.
 *
 * ingress → access → policy → sessions → sandboxes → guest → result
 *
 * The third part of the composition root, loaded only where the door is open.
 */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import type { CheckHost } from './access/listen-address.ts'
import type { Config } from './config.ts'
import type { Home } from './home/home.ts'
import { openBoxDoor } from './ingress/box/box-door.ts'
import type { BoxDoor } from './ingress/box/box-door.ts'
import { createBoxErrors } from './ingress/box/box-errors.ts'
import { relaySockets } from './ingress/box/relay-socket.ts'
import type { WorkBudget } from './ingress/pipeline/work-budget.ts'
import type { BoxOverview } from './ingress/box/run/box-overview.ts'
import { openBoxRuntime } from './ingress/box/run/box-runtime.ts'
import { withPossibleRoot } from './ingress/box/run/possible-root.ts'
import type { ChosenBackend } from './sandboxes/choose.ts'
import { sandboxUserOnHost } from './sandboxes/sandbox-user.ts'
import type { SandboxUser } from './sandboxes/spec.ts'
import type { SessionPlane } from './session-plane.ts'
import type { Store } from './store/store.ts'
import type { Log } from './telemetry/log.ts'

export interface BoxPlaneNeeds {
  readonly config: Config
  readonly home: Home
  readonly plane: SessionPlane
  readonly store: Store
  readonly chosen: ChosenBackend
  readonly budget: WorkBudget
  readonly checkHost: CheckHost
  readonly allowedOrigins: ReadonlySet<string>
  readonly clock: () => number
  readonly log: Log
}

/** Whom directories belong to that the server makes below the shared root: its owner, where sandboxes can show that owner's files as theirs. */
async function ownerOfNew(hostRoot: string | null, { mapsOwners }: SessionPlane): Promise<SandboxUser> {
  const found = hostRoot === null ? null : await stat(hostRoot).catch(() => null)
  if (hostRoot === null || found === null || !(await mapsOwners(hostRoot))) return sandboxUserOnHost()
  return { uid: found.uid, gid: found.gid }
}

export interface BoxPlane extends BoxDoor {
  /** What REST callers see of Box clients. */
  readonly overview: BoxOverview
}

export async function openBoxPlane({
  config,
  home,
  plane,
  store,
  chosen,
  budget,
  checkHost,
  allowedOrigins,
  clock,
  log,
}: BoxPlaneNeeds): Promise<BoxPlane> {
  const { box: settings } = config
  const tenantId = await plane.tenants.activeTenant(settings.tenant)
  if (tenantId === null) throw new HoldfastError('config_invalid', `box.tenant: there is no tenant ${JSON.stringify(settings.tenant)}`)
  const { sessions, listeners, skills, skillViews: views, sealing, mounts, workspaces } = plane
  const errors = createBoxErrors(clock)
  const runtime = await openBoxRuntime({
    ...{ errors, listeners, store, skills, views, mounts, workspaces, sealing, tenantId, clock, log },
    sessions: withPossibleRoot(sessions, chosen.capabilities.writableRoot),
    backend: chosen.backend,
    checkSandbox: (wish, owner) => plane.checkSandbox(wish, { tenantId, owner }),
    runsImages: chosen.capabilities.images,
    ignoresImages: settings.ignoresImages,
    stateDir: home.path,
    hostRoot: settings.hostRoot,
    allowedRoots: config.allowedMountRoots,
    user: await ownerOfNew(settings.hostRoot, plane),
  })
  const privatePaths = [home.path]
  const beginWork = (caller: string) => budget.begin({ tenant: tenantId, caller, key: caller })
  const door = await openBoxDoor({
    ...{ runtime, settings, errors, privatePaths, beginWork, checkHost, allowedOrigins, log },
    relay: (gate) => relaySockets({ runtime, gate, privatePaths, beginWork, log }),
    transfersDirectory: join(home.path, 'box', 'transfers'),
  })
  let ending: Promise<void> | null = null
  const end = async () => {
    await door.close()
    await runtime.close()
  }
  return { ...door, overview: runtime.overview, close: async () => (ending ??= end()) }
}
