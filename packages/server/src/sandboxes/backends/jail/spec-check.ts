/**
 * Can this spec be honoured exactly? The refusal names what is missing and why.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'
import type { BackendKind, Capabilities, CapabilityName } from '../../backend.ts'
import { assertPackable } from '../../packing.ts'
import type { SandboxSpec } from '../../spec.ts'

/** Below these the jail itself does not start. */
const LEAST_MEMORY_BYTES = 8 * 1024 * 1024
const LEAST_OPEN_FILES = 64
const LEAST_PIDS = 2
/** The kernel takes no quota below 1 ms in a period of 100 ms. */
const LEAST_CPUS = 0.01
const LEAST_TMP_BYTES = 4096

/** `mostOpenFiles`: more cannot be allowed here. Throws `capability_unsupported`. Creates nothing. */
export function checkSpec(kind: BackendKind, spec: SandboxSpec, capabilities: Capabilities, mostOpenFiles: number): void {
  const { limits } = spec
  const refuse = (wish: string, why: string): never => {
    throw new HoldfastError('capability_unsupported', `${kind} cannot ${wish}: ${why}`, { kind })
  }
  const need = (isWished: boolean, name: CapabilityName, isThere: boolean, wish: string): void => {
    if (isWished && !isThere) refuse(wish, capabilities.reasons[name] ?? 'this host cannot do it')
  }
  const least = (value: number | null, minimum: number, what: string): void => {
    if (value !== null && !(value >= minimum)) refuse(`run with ${value} ${what}`, `the least is ${minimum}`)
  }
  need(spec.image !== null, 'images', capabilities.images, `run the image '${spec.image}'`)
  need(spec.rootfs === 'writable', 'writableRoot', capabilities.writableRoot, 'give a writable root')
  need(spec.user === 'root', 'rootUser', capabilities.rootUser, 'run commands as root')
  if (spec.user === 'root' && spec.rootfs === 'read-only')
    refuse('run commands as root', 'that needs a writable root; set rootfs to writable')
  need(spec.network === 'on', 'networkOn', capabilities.networkOn, 'turn the network on')
  need(limits.cpus !== null, 'cpus', capabilities.limits.cpus, 'limit the CPUs')
  need(limits.memoryBytes !== null, 'memory', capabilities.limits.memory, 'limit the memory')
  need(limits.pids !== null, 'pids', capabilities.limits.pids, 'limit the processes')
  assertPackable(kind, capabilities, spec)
  least(limits.cpus, LEAST_CPUS, 'CPUs')
  least(limits.memoryBytes, LEAST_MEMORY_BYTES, 'bytes of memory')
  least(limits.pids, LEAST_PIDS, 'processes')
  least(limits.openFiles, LEAST_OPEN_FILES, 'open files')
  if (limits.openFiles > mostOpenFiles)
    refuse(`run with ${limits.openFiles} open files`, `the most is ${mostOpenFiles}, as for the server itself`)
  least(limits.tmpBytes, LEAST_TMP_BYTES, 'bytes of temporary space')
  const shadowed = spec.mounts.find((mount) => isOwnPath(mount.target))
  if (shadowed !== undefined) refuse(`mount at ${shadowed.target}`, 'that is a path of the sandbox itself')
}

const OWN_ROOTS = ['usr', 'bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32', 'etc', 'proc', 'sys', 'dev', '.holdfast']

function isOwnPath(target: string): boolean {
  const [empty, first = '', ...rest] = target.split('/')
  return empty !== '' || first === '' || rest.some((name) => name === '' || name === '.' || name === '..') || OWN_ROOTS.includes(first)
}
