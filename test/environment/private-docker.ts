/**
 * A Docker engine for the tests alone: own containerd, data directory, socket and bridge. Needs root.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { engineAnswers } from './engine-api.ts'
import { createBridge } from './private-bridge.ts'
import { findProgram, startDaemon } from './program.ts'

/** Whether it can be started at all: `null`, or the reason why not. */
export function privateDockerObstacle(): string | null {
  if (process.platform !== 'linux') return 'private engines need Linux'
  if (process.getuid?.() !== 0) return 'a private dockerd needs root'
  const missing = ['dockerd', 'containerd', 'runc'].filter((program) => findProgram(program) === null)
  return missing.length > 0 ? `${missing.join(' and ')} not installed` : null
}

/** Ended by `cleanUp(directory)`. Returns the path of its socket. */
export async function startPrivateDocker(directory: string): Promise<string> {
  const containerdSocket = join(directory, 'containerd.sock')
  const socket = join(directory, 'docker.sock')
  const containerdArgs = [
    '--root',
    join(directory, 'c'),
    '--state',
    join(directory, 'cr'),
    '--address',
    containerdSocket,
    '--log-level',
    'warn',
  ]
  const isContainerdReady = async () => existsSync(containerdSocket)
  const [bridge] = await Promise.all([
    createBridge(directory, 'hfd'),
    startDaemon(findProgram('containerd') ?? '', containerdArgs, {
      logPath: join(directory, 'containerd.log'),
      isReady: isContainerdReady,
    }),
  ])
  const places = ['--containerd', containerdSocket, '--data-root', join(directory, 'docker'), '--exec-root', join(directory, 'dr')]
  const identity = ['--pidfile', join(directory, 'docker.pid'), '-H', `unix://${socket}`, '--log-level', 'warn']
  // The machine's firewall and routing are not the tests' to change.
  const network = ['--bridge', bridge?.name ?? 'none', '--iptables=false', '--ip6tables=false', '--ip-forward=false', '--ip-masq=false']
  await startDaemon(findProgram('dockerd') ?? '', [...places, ...identity, ...network, '--userland-proxy=false'], {
    logPath: join(directory, 'dockerd.log'),
    isReady: () => engineAnswers(socket),
  })
  return socket
}
