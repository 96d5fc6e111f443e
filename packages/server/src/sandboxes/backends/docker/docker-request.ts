/**
 * The create request in Docker's words.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import type { Mount } from '../../spec.ts'
import { containerPlan, type ContainerWish } from '../engine/container-plan.ts'
import type { CreateRequest } from '../engine/engine-client.ts'

export function dockerRequest(name: string, wish: ContainerWish): CreateRequest {
  return { path: '/containers/create', query: { name }, body: dockerBody(wish) }
}

export function dockerBody(wish: ContainerWish) {
  const plan = containerPlan(wish)
  return {
    Image: plan.imageId,
    Entrypoint: plan.argv,
    Cmd: [],
    Env: [],
    User: '0:0',
    WorkingDir: '/',
    Hostname: plan.hostname,
    Healthcheck: { Test: ['NONE'] },
    StopSignal: 'SIGKILL',
    StopTimeout: 0,
    Labels: plan.labels,
    HostConfig: {
      CapDrop: ['ALL'],
      CapAdd: plan.capabilities,
      SecurityOpt: ['no-new-privileges'],
      Privileged: false,
      Init: false,
      ReadonlyRootfs: plan.isRootReadOnly,
      NetworkMode: plan.network === 'on' ? 'bridge' : 'none',
      IpcMode: 'private',
      CgroupnsMode: 'private',
      LogConfig: { Type: 'none', Config: {} },
      RestartPolicy: { Name: 'no' },
      OomScoreAdj: plan.oomScoreAdjustment,
      ShmSize: plan.shmBytes,
      Tmpfs: Object.fromEntries(plan.tmpfs.map(([target, options]) => [target, options.join(',')])),
      Mounts: plan.binds.map(bind),
      Ulimits: plan.rlimits.map(({ name, value }) => ({ Name: name, Soft: value, Hard: value })),
      ...resources(wish),
    },
  }
}

/** Without submounts: only the top of a read-only mount is made read-only, so anything mounted below would stay writable. */
function bind(mount: Mount) {
  return {
    Type: 'bind',
    Source: mount.source,
    Target: mount.target,
    ReadOnly: mount.mode === 'ro',
    BindOptions: { Propagation: 'rprivate', NonRecursive: true },
  }
}

function resources({ spec: { limits }, traits }: ContainerWish) {
  return {
    ...(limits.memoryBytes === null ? {} : { Memory: limits.memoryBytes }),
    // Memory and swap together: equal means no swap.
    ...(limits.memoryBytes === null || !traits.limitsSwap ? {} : { MemorySwap: limits.memoryBytes }),
    ...(limits.cpus === null ? {} : { NanoCpus: Math.round(limits.cpus * 1e9) }),
    // -1 is no limit, whatever the daemon's default.
    PidsLimit: limits.pids ?? -1,
  }
}
