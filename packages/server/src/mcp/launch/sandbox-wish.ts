/**
 * The `box` of a configuration as a wish for a sandbox.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * What is not said is the profile's or the server's. A conversation that has its sandbox already must agree with what is said.
 */
import type { SandboxWish } from '@holdfast/protocol'
import type { McpBoxConfig } from '@holdfast/protocol/mcp'
import type { LaunchPlan } from './plan.ts'

const MEBIBYTE = 1024 * 1024

export function sandboxWishOf(box: McpBoxConfig, { mount }: Pick<LaunchPlan, 'mount'>): SandboxWish {
  const { image, network, cpus, memory_mb: memory, pids_limit: pids, read_only_rootfs: isReadOnly } = box
  const limits = {
    ...(cpus === null ? {} : { cpus }),
    ...(memory === null ? {} : { memory_bytes: memory * MEBIBYTE }),
    ...(pids === null ? {} : { pids }),
  }
  return {
    network,
    ...(image === null ? {} : { image }),
    ...(isReadOnly === null ? {} : { rootfs: isReadOnly ? ('read-only' as const) : ('writable' as const) }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    ...(mount === null ? {} : { mounts: [mount] }),
  }
}
