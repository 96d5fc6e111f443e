/**
 * `holdfast box` as an operator starts it: in a process of its own, on one backend, with a home of its own.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openHome } from '../../packages/server/src/home/home.ts'
import { openBackend } from '../chaos/open-backend.ts'
import { PROGRAM } from '../environment/holdfast-program.ts'
import type { BackendUnderTest } from '../environment/machine.ts'
import { endChild, startReady } from '../servers/holdfast-child.ts'
import type { ReadyChild } from '../servers/holdfast-child.ts'
import { foreign, INSTANCE } from './langbot-driver.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const CLOCK = join(import.meta.dirname, 'passing-clock.ts')
const BUILT = join(ROOT, 'guest', 'build')

/** Where a server lives, whoever starts it. */
export interface BoxPlace {
  readonly home: string
  /** Is `box.host_root`. */
  readonly root: string
  /** For `holdfast box`. */
  readonly env: NodeJS.ProcessEnv
  /** The names of its sandboxes. */
  sandboxes(): Promise<readonly string[]>
  /** Destroys what is left of its sandboxes, and removes it. */
  remove(): Promise<void>
}

export function makePlace({ kind, settings }: BackendUnderTest, more: NodeJS.ProcessEnv = {}): BoxPlace {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-interop-'))
  const home = join(directory, 'home')
  const root = join(directory, 'box')
  mkdirSync(root)
  const { dockerSocket, image } = settings
  const backend = () => {
    const { serverId, stateDir } = openHome(home)
    const programs = { guestPath: join(BUILT, 'holdfast-guest'), launcherPath: join(BUILT, 'holdfast-launcher') }
    return openBackend({ kind, settings, skipReason: null }, { serverId, stateDir, ...programs })
  }
  return {
    home,
    root,
    env: {
      ...foreign(process.env),
      ...{ HOLDFAST_HOME: home, HOLDFAST_BACKEND: kind, HOLDFAST_BOX_HOST_ROOT: root, HOLDFAST_LOG_LEVEL: 'error' },
      ...(dockerSocket === undefined ? {} : { HOLDFAST_DOCKER_HOST: dockerSocket }),
      ...(image === undefined ? {} : { HOLDFAST_IMAGE: image }),
      LANGBOT_BOX_TRUSTED_INSTANCE_UUID: INSTANCE,
      ...more,
    },
    sandboxes: async () => (await backend().list()).map(({ name }) => name).toSorted(),
    async remove() {
      const open = backend()
      for (const { name } of await open.list()) await open.destroy(name)
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

interface RestInit {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export interface BoxServer {
  readonly url: string
  /** As the administrator. */
  rest(path: string, init?: RestInit): Promise<Record<string, unknown>>
  /** `kill -9`. */
  die(): Promise<void>
  /** Another one at the same address, on the same home. */
  restart(): Promise<void>
  /** More than five minutes pass on its watch. */
  letTimePass(): void
  close(): Promise<void>
}

export async function startBoxServer(place: BoxPlace): Promise<BoxServer> {
  let { child, url } = await launch(place, '0')
  const ask = async (path: string, init: RestInit = {}) => {
    const key = readFileSync(join(place.home, 'admin.key'), 'utf8').trim()
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...init.headers }
    const response = await fetch(`${url}${path}`, { ...init, headers })
    return response.json() as Promise<Record<string, unknown>>
  }
  return {
    get url() {
      return url
    },
    rest: ask,
    die: () => endChild(child, 'SIGKILL'),
    async restart() {
      ;({ child, url } = await launch(place, new URL(url).port))
    },
    letTimePass: () => void child.kill('SIGUSR2'),
    close: () => endChild(child, 'SIGTERM'),
  }
}

function launch({ env }: BoxPlace, port: string): Promise<ReadyChild> {
  return startReady(['--import', CLOCK, PROGRAM, 'box', '--ws-control-port', port], env)
}
