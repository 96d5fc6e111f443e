/**
 * Sandboxes that nobody speaks of any more: found by name at the next start and destroyed.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * A backend lists only what carries its own server id, so another server's sandboxes are never seen here. A server may have been
 * started with another backend before; the state directory shows it, so that no engine is asked for nothing.
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { isHoldfastError } from '@holdfast/protocol'
import { BACKEND_KINDS } from './backend.ts'
import type { SandboxBackend } from './backend.ts'
import type { OpenBackend } from './choose.ts'

export interface OrphanSearch {
  /** The backend in use: one that cannot be asked is a failed start. */
  readonly chosen: SandboxBackend
  readonly open: OpenBackend
  readonly stateDir: string
  /** Names that somebody still speaks of; they are left alone. */
  readonly expected: ReadonlySet<string>
}

export interface OrphansFound {
  readonly destroyed: number
  /** Names that are left because their backend does not answer today. */
  readonly kept: readonly string[]
}

export async function destroyOrphans({ chosen, open, stateDir, expected }: OrphanSearch): Promise<OrphansFound> {
  const unexpected = async () => (await namesIn(stateDir)).filter((name) => !expected.has(name))
  let destroyed = await destroyAll(chosen, expected)
  for (const kind of BACKEND_KINDS) {
    if (kind === chosen.kind || (await unexpected()).length === 0) continue
    try {
      destroyed += await destroyAll(await open(kind), expected)
    } catch (error) {
      // An engine that is not there today keeps its sandboxes; they are named below and tried again at the next start.
      if (!isHoldfastError(error)) throw error
    }
  }
  return { destroyed, kept: await unexpected() }
}

async function destroyAll(backend: SandboxBackend, expected: ReadonlySet<string>): Promise<number> {
  const orphans = (await backend.list()).filter(({ name }) => !expected.has(name))
  await Promise.all(orphans.map(({ name }) => backend.destroy(name)))
  return orphans.length
}

/** Without the half-made ones, whose names start with a dot and in which nothing was ever started. */
async function namesIn(stateDir: string): Promise<readonly string[]> {
  const names = await readdir(join(stateDir, 'sandboxes')).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  return names.filter((name) => !name.startsWith('.'))
}
