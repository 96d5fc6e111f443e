/**
 * A Podman service for the tests alone: own storage, socket and network. Needs no root.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { engineAnswers } from './engine-api.ts'
import { createBridge, type PrivateBridge } from './private-bridge.ts'
import { findProgram, startDaemon } from './program.ts'

/** Whether it can be started at all: `null`, or the reason why not. */
export function privatePodmanObstacle(): string | null {
  if (process.platform !== 'linux') return 'private engines need Linux'
  return findProgram('podman') === null ? 'podman not installed' : null
}

/** Ended by `cleanUp(directory)`. Returns the path of its socket. */
export async function startPrivatePodman(directory: string): Promise<string> {
  const socket = join(directory, 'podman.sock')
  const bridge = existsSync('/usr/lib/cni/bridge') ? await createBridge(directory, 'hfp') : null
  const networkArgs = bridge === null ? [] : ['--network-config-dir', writeNetwork(directory, bridge)]
  // crun as Debian 12 has it asks for more than a machine without CAP_SYS_RESOURCE or with hybrid cgroups can give.
  const runtimeArgs = findProgram('runc') === null ? [] : ['--runtime', 'runc']
  const places = ['--root', join(directory, 'pr'), '--runroot', join(directory, 'prr'), '--tmpdir', join(directory, 'pt')]
  // Without systemd neither its cgroups nor its journal are there.
  const host = existsSync('/run/systemd/system') ? [] : ['--cgroup-manager', 'cgroupfs', '--events-backend', 'file']
  const args = [...places, ...runtimeArgs, ...host, ...networkArgs, 'system', 'service', '--time', '0', `unix://${socket}`]
  await startDaemon(findProgram('podman') ?? '', args, {
    logPath: join(directory, 'podman.log'),
    env: {
      // Podman 4.3 writes each image it receives to a temporary file and leaves it: 80 MB of /var/tmp with every run.
      TMPDIR: directory,
      // For each `podman info` it asks dpkg six times which package a program is of: 0.5 s. Without a database dpkg answers at once.
      DPKG_ADMINDIR: join(directory, 'no-packages'),
    },
    isReady: () => engineAnswers(socket),
  })
  return socket
}

/** Podman's default network is the one named `podman`; ours has no firewall and no port mapping in its chain of plugins. */
function writeNetwork(directory: string, bridge: PrivateBridge): string {
  const configDirectory = join(directory, 'net')
  mkdirSync(configDirectory)
  const ipam = {
    type: 'host-local',
    dataDir: join(directory, 'cni'),
    routes: [{ dst: '0.0.0.0/0' }],
    ranges: [[{ subnet: bridge.subnet }]],
  }
  const plugin = { type: 'bridge', bridge: bridge.name, isGateway: true, ipMasq: false, hairpinMode: true, ipam }
  writeFileSync(join(configDirectory, '87-podman.conflist'), JSON.stringify({ cniVersion: '0.4.0', name: 'podman', plugins: [plugin] }))
  return configDirectory
}
