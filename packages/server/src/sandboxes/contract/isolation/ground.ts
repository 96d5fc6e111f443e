/**
 * The ground on which the isolation proofs are fought: a sandbox to attack from, a neighbour to protect, a host with
 * secrets.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * Attempts that cannot disturb each other share one sandbox; one that may wreck its sandbox asks for a fresh one.
 */
import { chmodSync, chownSync, copyFileSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isServerRoot, sandboxUserOnHost } from '../../sandbox-user.ts'
import type { Mount } from '../../spec.ts'
import type { Inhabited, Laboratory, Wish } from '../laboratory.ts'
import { openLaboratory } from '../laboratory.ts'
import { run } from '../outcome.ts'
import { NotHere } from '../subject.ts'
import type { Subject } from '../subject.ts'
import { buildAttackProgram } from './attack-program.ts'

export interface Ground {
  readonly laboratory: Laboratory
  readonly attacked: Inhabited
  readonly neighbour: Inhabited
  /** Host directory shown at `/workspace` of the attacked sandbox. */
  readonly workspace: string
  /** Host files that nothing was given access to, world-readable so that only isolation protects them. */
  readonly secretPaths: readonly string[]
  readonly secretText: string
  /** The attack program, for a sandbox that is made later. */
  readonly attackMount: Mount
  /** A sandbox of its own for an attack that may wreck it. Destroyed with `end`. */
  fresh<T>(wish: Wish, attempt: (sandbox: Inhabited) => Promise<T>): Promise<T>
  close(): Promise<readonly string[]>
}

export async function prepareGround(subject: Subject, always: Wish = {}): Promise<Ground> {
  const laboratory = await openLaboratory(subject, '', always)
  const elsewhere = realpathSync(mkdtempSync('/var/tmp/holdfast-secret-'))
  const close = async (): Promise<readonly string[]> => {
    rmSync(elsewhere, { recursive: true, force: true })
    return laboratory.close()
  }
  try {
    return { ...(await prepareIn(laboratory, elsewhere)), close }
  } catch (error) {
    await close()
    throw error
  }
}

async function prepareIn(laboratory: Laboratory, elsewhere: string): Promise<Omit<Ground, 'close'>> {
  const attacks = laboratory.hostDirectory('attacks')
  buildAttackProgram(join(attacks, 'attack'))
  copyFileSync(join(attacks, 'attack'), join(attacks, 'attack-as-root'))
  if (process.getuid?.() === 0) chownSync(join(attacks, 'attack-as-root'), 0, 0)
  chmodSync(join(attacks, 'attack-as-root'), 0o6755)
  // All may read it. As a directory of the host it would keep sandboxes of a server that is not root from having users.
  const attackMount: Mount = { source: attacks, target: '/mnt/attacks', mode: 'ro', ...(isServerRoot() ? {} : { isOwn: true }) }

  const readOnly = laboratory.hostDirectory('read-only')
  chmodSync(readOnly, 0o777)
  writeFileSync(join(readOnly, 'note'), 'not to be changed')
  chmodSync(join(readOnly, 'note'), 0o777)
  const { uid, gid } = sandboxUserOnHost()
  chownSync(join(readOnly, 'note'), uid, gid)

  const workspace = laboratory.hostDirectory('workspace')
  const secretText = `secret ${crypto.randomUUID()}`
  const secretPaths = [join(laboratory.directory, 'secret'), join(elsewhere, 'secret')]
  for (const path of secretPaths) writeFileSync(path, secretText, { mode: 0o644 })
  for (const directory of [laboratory.directory, elsewhere]) chmodSync(directory, 0o755)

  const [attacked, neighbour] = await Promise.all([
    laboratory.create({
      mounts: [
        { source: workspace, target: '/workspace', mode: 'rw' },
        attackMount,
        { source: readOnly, target: '/mnt/read-only', mode: 'ro' },
      ],
    }),
    laboratory.create({ mounts: [attackMount] }),
  ])

  return {
    laboratory,
    attacked,
    neighbour,
    workspace,
    secretPaths,
    secretText,
    attackMount,
    async fresh(wish, attempt) {
      const made = await laboratory.create({ ...wish, mounts: [attackMount, ...(wish.mounts ?? [])] })
      try {
        return await attempt(made)
      } finally {
        made.inside.close()
        await laboratory.backend.destroy(made.name)
      }
    },
  }
}

/** Without the limit there is nothing to withstand with; the capability's own reason says why. */
export function needing({ laboratory }: Ground, limit: 'cpus' | 'memory' | 'pids'): void {
  const { limits, reasons } = laboratory.capabilities
  if (!limits[limit]) throw new NotHere(reasons[limit] ?? `no ${limit} limit here`)
}

/** The neighbour runs commands; when it does not, the test's own time limit speaks. */
export async function neighbourAnswers({ neighbour }: Ground): Promise<void> {
  for (let turn = 0; turn < 5; turn++) {
    await neighbour.inside.ping()
    const { exitCode } = await run(neighbour.inside, ['/mnt/attacks/attack', 'show', '/proc/self/status'])
    if (exitCode !== 0) throw new Error(`the neighbour's command ended with ${exitCode}`)
  }
}
