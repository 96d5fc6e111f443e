/**
 * A backend for tests only: the real guest as a plain process of this host, with no sandbox around it.
 *
 * It isolates nothing. A program started through it sees the whole host as the user who runs the tests. In return a
 * "sandbox" costs a few milliseconds, so that thousands of sequences of a session's life can be tried. Everything else is real:
 * the guest's binary, its socket, its protocol, its process trees. It is not in the server's registry and cannot be chosen.
 */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { chmod, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { HoldfastError } from '@holdfast/protocol'
import type { Capabilities, Sandbox, SandboxBackend } from '../../packages/server/src/sandboxes/backend.ts'
import { connectGuest } from '../../packages/server/src/sandboxes/backends/guest-connection.ts'
import { sandboxUserOnHost } from '../../packages/server/src/sandboxes/sandbox-user.ts'
import type { SandboxSpec } from '../../packages/server/src/sandboxes/spec.ts'
import { CAN_PACK } from './rules.ts'

export const BARE_CAPABILITIES: Capabilities = {
  limits: { cpus: true, memory: true, pids: true },
  networkOn: true,
  images: false,
  writableRoot: true,
  rootUser: false,
  severalUsers: CAN_PACK,
  packing: CAN_PACK,
  reasons: {},
}

/** What the backend is to fail at, as an engine does that does not answer. */
export interface Trouble {
  create: boolean
  destroy: boolean
  /** With an error that is none of its own. */
  isUnexpected: boolean
}

export interface BareGuestBackend extends SandboxBackend {
  readonly trouble: Trouble
  /** Sandboxes that it was asked to destroy and did not, unless they were made anew since. */
  readonly refused: ReadonlySet<string>
  /** Ends the guest and all it started, as the death of a sandbox does; what is left of it must still be destroyed. */
  lose(name: string): Promise<void>
  /** For the end of a test: no guest is left, whatever the trouble. */
  endAll(): Promise<void>
}

interface Guest {
  readonly child: ChildProcess
  readonly socket: string
}

export function bareGuestBackend(guestPath: string, directory: string): BareGuestBackend {
  const guests = new Map<string, Guest>()
  const trouble: Trouble = { create: false, destroy: false, isUnexpected: false }
  const refused = new Set<string>()

  function unavailable(): HoldfastError {
    return new HoldfastError('backend_unavailable', 'the engine does not answer at the moment')
  }

  function sandboxOf(name: string, { socket }: Guest): Sandbox {
    return {
      name,
      kind: 'bubblewrap',
      async dial(signal) {
        try {
          return await connectGuest(socket, signal)
        } catch (cause) {
          if (signal?.aborted) throw cause
          throw new HoldfastError('guest_unreachable', `the guest of ${name} does not answer`, { name }, { cause })
        }
      },
    }
  }

  const endAtOnce = () => {
    for (const { child } of guests.values()) killTree(child)
  }
  // Whatever ends this process: the guests are its children in name only.
  process.once('exit', endAtOnce)

  async function remove(name: string): Promise<void> {
    const guest = guests.get(name)
    if (guest === undefined) return
    await endTree(guest.child)
    await rm(guest.socket, { force: true })
    guests.delete(name)
  }

  return {
    kind: 'bubblewrap',
    trouble,
    refused,
    probe: async () => ({ available: true, version: 'test', capabilities: BARE_CAPABILITIES }),
    async check({ image }) {
      if (image !== null) throw new HoldfastError('capability_unsupported', `this backend runs no images, and ${image} was named`)
    },
    async create(name, spec) {
      if (trouble.create) throw unavailable()
      await remove(name)
      refused.delete(name)
      // There are no mounts: programs reach their workspace through the host's own tree.
      for (const { source } of spec.mounts) await chmod(dirname(source), 0o711)
      const socket = join(directory, `${name}.sock`)
      const { uid, gid } = sandboxUserOnHost()
      const options = ['serve', '--listen', socket, '--uid', `${uid}`, '--gid', `${gid}`, '--allow-local-peers', ...packedOptions(spec)]
      const guest = { child: spawn(guestPath, options, { stdio: ['ignore', 'ignore', 'inherit'] }), socket }
      guests.set(name, guest)
      await untilItListens(guest)
      return sandboxOf(name, guest)
    },
    async attach(name) {
      const guest = guests.get(name)
      if (guest === undefined || !isRunning(guest)) throw new HoldfastError('sandbox_gone', `the sandbox ${name} is not running`, { name })
      return sandboxOf(name, guest)
    },
    list: async () => [...guests].map(([name, guest]) => ({ name, running: isRunning(guest) })),
    async destroy(name) {
      if (trouble.destroy) {
        refused.add(name)
        throw trouble.isUnexpected ? new Error('the engine said something that nobody understands') : unavailable()
      }
      await remove(name)
    },
    async lose(name) {
      const guest = guests.get(name)
      if (guest !== undefined) await endTree(guest.child)
    },
    async endAll() {
      for (const name of guests.keys()) await remove(name)
      process.off('exit', endAtOnce)
    },
  }
}

function packedOptions({ packed }: SandboxSpec): readonly string[] {
  if (packed === undefined) return []
  const { firstUid, count, pidsPerUid } = packed
  return ['--first-user', `${firstUid}`, '--user-count', `${count}`, '--user-processes', `${pidsPerUid}`]
}

async function untilItListens({ child, socket }: Guest): Promise<void> {
  while (child.exitCode === null) {
    try {
      ;(await connectGuest(socket)).destroy()
      return
    } catch {
      // The guest has no other way to say that it listens.
      await delay(1)
    }
  }
  throw new HoldfastError('backend_unavailable', `the guest ended with ${child.exitCode} as soon as it was started`)
}

function isRunning({ child }: Guest): boolean {
  return child.exitCode === null && child.signalCode === null
}

/** All at once: what the guest started stays below it, whatever it does, because the guest adopts its orphans. */
async function endTree(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  const pids = killTree(child)
  await ended
  // Somebody else reaps them: there is no event to wait for.
  while (pids.some(isAlive)) await delay(1)
}

function killTree({ pid }: ChildProcess): readonly number[] {
  const pids = pid === undefined ? [] : [pid, ...descendants(pid)]
  for (const each of pids) killProcess(each)
  return pids
}

/** One that only waits to be reaped is none. */
function isAlive(pid: number): boolean {
  const stat = readQuietly(`/proc/${pid}/stat`)
  return stat !== '' && !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2))
}

function descendants(pid: number): readonly number[] {
  const children = readQuietly(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number)
  return children.flatMap((below) => [below, ...descendants(below)])
}

function readQuietly(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    // Ended meanwhile.
    return ''
  }
}

function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // Ended meanwhile.
  }
}
