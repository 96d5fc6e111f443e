/**
 * The create request in Podman's own words.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * Podman also takes Docker's request, but turns it into command-line options on the way: paths with commas or quotes
 * are lost, a read-only root gets unbounded writable directories, and `/etc/hosts` becomes a copy of the host's.
 */
import type { Mount } from '../../spec.ts'
import { containerPlan, type ContainerWish } from '../engine/container-plan.ts'
import type { CreateRequest } from '../engine/engine-client.ts'

const CPU_PERIOD_USEC = 100_000

export function podmanRequest(name: string, wish: ContainerWish): CreateRequest {
  return { path: '/libpod/containers/create', body: podmanBody(name, wish) }
}

export function podmanBody(name: string, wish: ContainerWish) {
  const plan = containerPlan(wish)
  const hosts: Mount = { source: wish.hostsPath, target: '/etc/hosts', mode: 'ro' }
  return {
    name,
    ...(plan.rootPath === null ? { image: plan.imageId } : { rootfs: plan.rootPath }),
    entrypoint: plan.argv,
    command: [],
    user: '0:0',
    work_dir: '/',
    hostname: plan.hostname,
    labels: plan.labels,
    healthconfig: { Test: ['NONE'] },
    stop_signal: 9,
    stop_timeout: 0,
    privileged: false,
    init: false,
    cap_drop: ['ALL'],
    cap_add: plan.capabilities,
    no_new_privileges: true,
    read_only_filesystem: plan.isRootReadOnly,
    image_volume_mode: 'ignore',
    // The container's network namespace is not in the user namespace of its root, whose NET_BIND_SERVICE does not count there.
    ...(wish.spec.user === 'root' ? { sysctl: { 'net.ipv4.ip_unprivileged_port_start': '0' } } : {}),
    netns: { nsmode: networkMode(wish) },
    ipcns: { nsmode: 'private' },
    pidns: { nsmode: 'private' },
    utsns: { nsmode: 'private' },
    cgroupns: { nsmode: 'private' },
    // The server's own user keeps its id inside; the guest's root is then one of its subordinate ids.
    ...(wish.traits.isRootless ? { userns: { nsmode: 'keep-id' } } : {}),
    log_configuration: { driver: 'none' },
    restart_policy: 'no',
    oom_score_adj: plan.oomScoreAdjustment,
    shm_size: plan.shmBytes,
    mounts: [...plan.tmpfs.map(tmpfs), ...[hosts, ...plan.binds].map(bind)],
    r_limits: plan.rlimits.map(({ name: type, value }) => ({ type, soft: value, hard: value })),
    resource_limits: resources(wish),
  }
}

function networkMode({ spec, traits }: ContainerWish): string {
  if (spec.network === 'off') return 'none'
  return traits.isRootless ? 'slirp4netns' : 'bridge'
}

/** Podman would fill it with what the image has at that place. */
function tmpfs([destination, options]: readonly [string, readonly string[]]) {
  return { type: 'tmpfs', source: 'tmpfs', destination, options: [...options, 'notmpcopyup'] }
}

/** `bind` and not `rbind`: only the top of a read-only mount is made read-only, so anything mounted below would stay writable. */
function bind(mount: Mount) {
  return { type: 'bind', source: mount.source, destination: mount.target, options: ['bind', 'rprivate', 'nosuid', 'nodev', mount.mode] }
}

function resources({ spec: { limits }, traits }: ContainerWish) {
  const swap = traits.limitsSwap ? { swap: limits.memoryBytes } : {}
  return {
    // Memory and swap together: equal means no swap.
    ...(limits.memoryBytes === null ? {} : { memory: { limit: limits.memoryBytes, ...swap } }),
    ...(limits.cpus === null ? {} : { cpu: { quota: Math.round(limits.cpus * CPU_PERIOD_USEC), period: CPU_PERIOD_USEC } }),
    // -1 is no limit, whatever containers.conf says.
    pids: { limit: limits.pids ?? -1 },
  }
}
