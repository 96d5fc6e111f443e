/**
 * What this machine can test: for each backend the settings to run it with, or the reason to skip it.
 *
 * Private engines are started where that is possible; otherwise an engine of the user's that already runs is used.
 */
import { BACKEND_KINDS, type BackendKind } from '../../packages/server/src/sandboxes/backend.ts'
import { engineAnswers } from './engine-api.ts'
import { privateDockerObstacle, startPrivateDocker } from './private-docker.ts'
import { privatePodmanObstacle, startPrivatePodman } from './private-podman.ts'
import { findProgram, run } from './program.ts'
import { DEBIAN_IMAGE, imageTarballs, loadImages, NOSHELL_IMAGE, type ImageTarball } from './test-images.ts'

export interface BackendUnderTest {
  readonly kind: BackendKind
  readonly settings: {
    readonly dockerSocket?: string
    readonly podmanSocket?: string
    /** Like python:3.11-slim. */
    readonly image?: string
    /** Holds `/hello` and nothing else. */
    readonly imageWithoutShell?: string
  }
  /** `null`: run it. */
  readonly skipReason: string | null
}

/** Everything it starts lives in `directory` and ends with `cleanUp(directory)`. */
export async function prepareMachine(
  directory: string,
  kinds: readonly BackendKind[] = BACKEND_KINDS,
): Promise<readonly BackendUnderTest[]> {
  const tarballs = kinds.some((kind) => kind === 'docker' || kind === 'podman') ? imageTarballs() : Promise.resolve([])
  tarballs.catch(() => {}) // reported by the engines that need them
  const prepare = { podman: () => podman(directory, tarballs), docker: () => docker(directory, tarballs), nsjail, bubblewrap }
  return Promise.all(kinds.map((kind) => prepare[kind]()))
}

async function docker(directory: string, tarballs: Promise<readonly ImageTarball[]>): Promise<BackendUnderTest> {
  const usersOwn = [process.env.DOCKER_HOST?.replace(/^unix:\/\//, ''), '/var/run/docker.sock']
  const obstacle = privateDockerObstacle()
  return engine('docker', obstacle, () => startPrivateDocker(directory), usersOwn, tarballs)
}

async function podman(directory: string, tarballs: Promise<readonly ImageTarball[]>): Promise<BackendUnderTest> {
  const usersOwn = [`${process.env.XDG_RUNTIME_DIR ?? '/run'}/podman/podman.sock`]
  const obstacle = privatePodmanObstacle()
  return engine('podman', obstacle, () => startPrivatePodman(directory), usersOwn, tarballs)
}

async function engine(
  kind: 'docker' | 'podman',
  obstacle: string | null,
  start: () => Promise<string>,
  usersOwn: readonly (string | undefined)[],
  tarballs: Promise<readonly ImageTarball[]>,
): Promise<BackendUnderTest> {
  try {
    const socket = obstacle === null ? await start() : await firstThatAnswers(usersOwn)
    if (socket === null) return skip(kind, `${obstacle}, and no ${kind} of yours answers`)
    await loadImages(socket, await tarballs)
    const sockets = kind === 'docker' ? { dockerSocket: socket } : { podmanSocket: socket }
    return { kind, settings: { ...sockets, image: DEBIAN_IMAGE, imageWithoutShell: NOSHELL_IMAGE }, skipReason: null }
  } catch (error) {
    return skip(kind, firstLine(error))
  }
}

async function firstThatAnswers(sockets: readonly (string | undefined)[]): Promise<string | null> {
  for (const socket of sockets) if (socket !== undefined && (await engineAnswers(socket))) return socket
  return null
}

async function bubblewrap(): Promise<BackendUnderTest> {
  const path = findProgram('bwrap')
  if (path === null) return skip('bubblewrap', 'bwrap not installed (apt-get install bubblewrap)')
  try {
    await run(path, ['--ro-bind', '/', '/', '--unshare-all', '--die-with-parent', 'true'])
    return { kind: 'bubblewrap', settings: {}, skipReason: null }
  } catch (error) {
    return skip('bubblewrap', `bwrap cannot make a sandbox here: ${firstLine(error)}`)
  }
}

async function nsjail(): Promise<BackendUnderTest> {
  if (findProgram('nsjail') === null) return skip('nsjail', 'nsjail is not on the PATH')
  return { kind: 'nsjail', settings: {}, skipReason: null }
}

function skip(kind: BackendKind, skipReason: string): BackendUnderTest {
  return { kind, settings: {}, skipReason }
}

function firstLine(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return message.trim().split('\n').slice(0, 3).join(' | ')
}
