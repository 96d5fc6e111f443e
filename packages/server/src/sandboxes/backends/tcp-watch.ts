/**
 * Kills a sandbox whose TCP buffers go far beyond their limit on cgroup version 1: the kernel gives every TCP socket some memory beyond it,
 * so a program with enough sockets could hold any amount.
 *
 * One timer serves all sandboxes of a backend. Each tick reads one number, what the machine holds in TCP and UDP buffers; only when that is
 * half of some sandbox's limit are the sandboxes read. The reads are synchronous: procfs and cgroupfs are memory, never a disk.
 */
import { closeSync, openSync, readFileSync, readSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import { hasErrorCode } from '../../home/error-code.ts'
import type { Log } from '../../telemetry/log.ts'
import type { TcpOverrun } from '../backend.ts'
import { signalProcess, type ProcessIdentity } from './jail/process-identity.ts'

export interface TcpWatch {
  /** From now on; does nothing for a sandbox without such a limit. `first` is its first process, with which the kernel kills all others. */
  add(name: string, first: ProcessIdentity, cgroups: readonly string[]): void
  remove(name: string): void
  /** What a sandbox held when this watch killed it; `null` for any other. */
  overrunOf(name: string): TcpOverrun | null
  /** The error for a sandbox that does not run. */
  goneError(name: string): HoldfastError
}

export interface TcpWatchNeeds {
  readonly log?: Pick<Log, 'warn'> | undefined
  /** What all sockets of the machine hold, at least. */
  readonly machineBytes?: () => number
}

interface Watched {
  readonly first: ProcessIdentity
  /** Descriptor of its usage file; an open one does not keep the cgroup from being removed. */
  readonly usage: number
  readonly limitBytes: number
}

/** While a sandbox holds half its limit. */
const NEAR_MS = 2
/** Between looks while none does, at most; less where a limit is so small that a program passes it sooner. */
const QUIET_MS = 50
/** What programs on one machine were seen to fill in a millisecond, with room. */
const FILLED_BYTES_PER_MS = 2.5e6
/** After a tick the event loop is left alone for so many times its duration. */
const REST = 20
const MOST_OVERRUNS = 1_000
/** Another architecture may have larger pages; a number that is too large only costs reads. */
const PAGE_BYTES = process.arch === 'x64' ? 4_096 : 65_536
/** The kernel adds up what each processor holds only when it is more than this (`net.core.mem_pcpu_rsv`). */
const UNCOUNTED_BYTES = 2 ** 20 * cpus().length

/** The limit is a quarter of the memory limit, so this is the limit and an eighth of the memory limit. */
function mostTcpBytes(limitBytes: number): number {
  return limitBytes * 1.5
}

export function createTcpWatch({ log, machineBytes = machineReader() }: TcpWatchNeeds): TcpWatch {
  const watched = new Map<string, Watched>()
  const overruns = new Map<string, TcpOverrun>()
  let leastLimit = Number.POSITIVE_INFINITY
  let timer: NodeJS.Timeout | null = null

  function changed(): void {
    leastLimit = Math.min(...[...watched.values()].map(({ limitBytes }) => limitBytes))
    if (watched.size > 0) timer ??= setTimeout(look, quietMs()).unref()
  }

  function quietMs(): number {
    return Math.max(NEAR_MS, Math.min(QUIET_MS, leastLimit / FILLED_BYTES_PER_MS))
  }

  function look(): void {
    const startedAt = performance.now()
    let isNear = false
    if (machineBytes() >= leastLimit / 2) for (const [name, each] of watched) if (check(name, each) >= each.limitBytes / 2) isNear = true
    const restMs = Math.max(isNear ? NEAR_MS : quietMs(), REST * (performance.now() - startedAt))
    timer = watched.size === 0 ? null : setTimeout(look, restMs).unref()
  }

  /** Returns what it holds. */
  function check(name: string, { first, usage, limitBytes }: Watched): number {
    const heldBytes = readNumber(usage)
    if (heldBytes === null || heldBytes > mostTcpBytes(limitBytes)) remove(name)
    if (heldBytes !== null && heldBytes > mostTcpBytes(limitBytes)) kill(name, first, { heldBytes, limitBytes })
    return heldBytes ?? 0
  }

  function kill(name: string, first: ProcessIdentity, overrun: TcpOverrun): void {
    signalProcess(first, 'SIGKILL')
    overruns.set(name, overrun)
    const [oldest] = overruns.keys()
    if (overruns.size > MOST_OVERRUNS && oldest !== undefined) overruns.delete(oldest)
    log?.warn('tcp-buffers-over-limit', { sandbox: name, held_bytes: overrun.heldBytes, limit_bytes: overrun.limitBytes })
  }

  function remove(name: string): void {
    const known = watched.get(name)
    if (known === undefined) return
    closeSync(known.usage)
    watched.delete(name)
    changed()
  }

  return {
    add(name, first, cgroups) {
      remove(name)
      for (const directory of cgroups) {
        const limitBytes = limitIn(directory)
        if (limitBytes === null) continue
        watched.set(name, { first, limitBytes, usage: openSync(join(directory, 'memory.kmem.tcp.usage_in_bytes'), 'r') })
        return changed()
      }
    },
    remove,
    overrunOf: (name) => overruns.get(name) ?? null,
    goneError(name) {
      const overrun = overruns.get(name)
      if (overrun === undefined) return new HoldfastError('sandbox_gone', `the sandbox ${name} is not running`, { name })
      const { heldBytes, limitBytes } = overrun
      const held = `its TCP sockets held ${heldBytes} bytes, and their limit is ${limitBytes}, a quarter of limits.memory`
      return new HoldfastError('sandbox_gone', `the sandbox ${name} was killed: ${held}`, {
        name,
        held_bytes: heldBytes,
        limit_bytes: limitBytes,
      })
    },
  }
}

/** `null` where there is no such file, and where it holds the kernel's number for no limit. */
function limitIn(cgroup: string): number | null {
  try {
    const bytes = Number(readFileSync(join(cgroup, 'memory.kmem.tcp.limit_in_bytes'), 'utf8'))
    return Number.isSafeInteger(bytes) ? bytes : null
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT', 'ENODEV')) return null
    throw error
  }
}

/** `null` when the cgroup is gone. */
function readNumber(descriptor: number): number | null {
  try {
    return Number(readText(descriptor))
  } catch (error) {
    if (hasErrorCode(error, 'ENODEV')) return null
    throw error
  }
}

const buffer = Buffer.alloc(1_024)

function readText(descriptor: number): string {
  return buffer.toString('latin1', 0, readSync(descriptor, buffer, 0, buffer.length, 0))
}

function machineReader(): () => number {
  let descriptor: number | null = null
  return () => {
    descriptor ??= openSync('/proc/net/sockstat', 'r')
    return parseSockstat(readText(descriptor))
  }
}

/** Bytes in TCP and UDP buffers of all network namespaces. */
export function parseSockstat(text: string): number {
  const pages = [...text.matchAll(/^(?:TCP|UDP): .*\bmem (\d+)/gm)].reduce((total, [, mem]) => total + Number(mem), 0)
  return pages * PAGE_BYTES + UNCOUNTED_BYTES
}
