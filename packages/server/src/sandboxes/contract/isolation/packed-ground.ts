/**
 * Two sessions in one packed sandbox: one attacks, the other has secrets everywhere that one can have them.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import type { ExecRequest, Execution, Inside } from '../../../guest/inside.ts'
import { makePackedPlace, makePackedSource } from '../../packed-directory.ts'
import { PACKED_UIDS, packedPaths } from '../../packing.ts'
import type { PackedUsers } from '../../spec.ts'
import type { Inhabited, Wish } from '../laboratory.ts'
import type { Ran } from '../outcome.ts'
import { lineFrom, run } from '../outcome.ts'
import { NotHere } from '../subject.ts'
import type { Ground } from './ground.ts'

/** One session's user and its places. */
export interface Tenant {
  readonly uid: number
  readonly home: string
  readonly workspace: string
}

export interface PackedSandbox extends Inhabited {
  readonly packed: PackedUsers
  readonly mallory: Tenant
  readonly alice: Tenant
}

export interface Victim {
  readonly execution: Execution
  /** In its environment, its files and its arguments. */
  readonly secret: string
  readonly terminal: string
}

const USERS = 16
export const PIDS_PER_UID = 32
/** Two users at their limit, their supervisors, the guest, and room for a third to start something. */
const PIDS = 128
/** A storm of failing forks costs the kernel's own memory, and that is counted too. */
const MEMORY_BYTES = 512 * 1024 * 1024

/** A sandbox of its own with two sessions in it; destroyed afterwards. */
export async function withPacked<T>(ground: Ground, attempt: (sandbox: PackedSandbox) => Promise<T>, wish: Wish = {}): Promise<T> {
  const { packing, limits, reasons } = ground.laboratory.capabilities
  if (!packing) throw new NotHere(reasons.packing ?? 'no packing here')
  // Its own place in the range, because some kernels count the processes of a uid across all sandboxes.
  const firstUid = PACKED_UIDS.first + Math.floor(Math.random() * 1_000_000) * USERS
  const source = mkdtempSync(join(ground.laboratory.directory, 'packed-'))
  await makePackedSource(source)
  const [alice, mallory] = await Promise.all([tenant('ses_alice', firstUid), tenant('ses_mallory', firstUid + 1)])
  const packed = { source, firstUid, count: USERS, pidsPerUid: PIDS_PER_UID }
  return ground.fresh(
    { packed, limits: { pids: limits.pids ? PIDS : null, memoryBytes: limits.memory ? MEMORY_BYTES : null }, ...wish },
    (sandbox) => attempt({ ...sandbox, packed, alice, mallory }),
  )

  async function tenant(sessionId: string, uid: number): Promise<Tenant> {
    await makePackedPlace(source, sessionId, uid)
    return { uid, ...packedPaths(sessionId) }
  }
}

export function as({ uid, home }: Tenant): Pick<ExecRequest, 'uid' | 'home'> {
  return { uid, home }
}

export function shellAs(inside: Inside, who: Tenant, script: string, env: Readonly<Record<string, string>> = {}): Promise<Ran> {
  return run(inside, { argv: ['/bin/sh', '-c', script], env, ...as(who) })
}

/** A program on a terminal that keeps a secret wherever one can be kept. */
export async function startVictim(inside: Inside, who: Tenant): Promise<Victim> {
  const secret = `secret-${crypto.randomUUID()}`
  const script = [
    'echo "$SECRET" | tee note "$TMPDIR/note" "$WORKSPACE/note" "/tmp/$SECRET" "/dev/shm/$SECRET" > /dev/null',
    'tty',
    // The variable stays in the environment of this one process until its end.
    'while :; do sleep 1000; done',
  ].join('\n')
  const execution = await inside.pty({
    argv: ['/bin/sh', '-c', script, secret],
    env: { SECRET: secret, WORKSPACE: who.workspace },
    size: { cols: 80, rows: 24 },
    ...as(who),
  })
  const terminal = (await lineFrom(execution.output, (line) => line.startsWith('/dev/pts/'))).trim()
  return { execution, secret, terminal }
}
