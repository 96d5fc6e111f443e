/**
 * Workspaces on disk: the files of a session, and the little that has to outlive its sandbox.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * `<workspaces>/<hash of the key>/files` is mounted at `/workspace`; `session.json` beside it remembers the id and the incarnation,
 * so that a kept disk is never presented as a fresh one, nor a new sandbox as the old one. The directory is named by a
 * hash because the key is a caller's text: replaced characters would let `a/b` and `a:b` meet.
 */
import { createHash } from 'node:crypto'
import { chown, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { HoldfastError, SandboxWish } from '@holdfast/protocol'
import { z } from 'zod'
import { randomId } from '../home/random-id.ts'
import type { SandboxUser } from '../sandboxes/spec.ts'

const SessionRecord = z.object({
  id: z.string(),
  key: z.string(),
  /** How many sandboxes have served it so far. */
  incarnation: z.int().min(0),
  /** What the caller asked for when its sandbox was made; the next sandbox is made alike. */
  wish: SandboxWish,
  /** Why the last sandbox ended, in words for a notice; absent while one lives, and after a crash of the server. */
  endReason: z.string().optional(),
})
export type SessionRecord = Readonly<z.output<typeof SessionRecord>>

export interface Workspace {
  readonly record: SessionRecord
  /** The host directory to mount. */
  readonly files: string
}

export interface Workspaces {
  /** The kept one of this key, or a new one. */
  open(key: string): Promise<Workspace>
  save(record: SessionRecord): Promise<void>
  /** Removes a workspace that never had a sandbox; a used one stays. */
  discardUnused(key: string): Promise<void>
}

export function createWorkspaces(directory: string, user: SandboxUser): Workspaces {
  const placeOf = (key: string) => join(directory, createHash('sha256').update(key).digest('hex').slice(0, 40))

  async function save(record: SessionRecord): Promise<void> {
    const path = join(placeOf(record.key), 'session.json')
    await writeFile(`${path}.new`, JSON.stringify(record), { mode: 0o600 })
    await rename(`${path}.new`, path)
  }

  return {
    save,
    async open(key) {
      const place = placeOf(key)
      const files = join(place, 'files')
      const kept = await readRecord(join(place, 'session.json'))
      if (kept !== null) return { record: kept, files }
      await mkdir(files, { recursive: true, mode: 0o700 })
      if (process.getuid?.() === 0) await chown(files, user.uid, user.gid)
      const record: SessionRecord = { id: randomId('ses'), key, incarnation: 0, wish: {} }
      await save(record)
      return { record, files }
    },
    async discardUnused(key) {
      const place = placeOf(key)
      const kept = await readRecord(join(place, 'session.json'))
      if (kept?.incarnation === 0) await rm(place, { recursive: true, force: true })
    },
  }
}

async function readRecord(path: string): Promise<SessionRecord | null> {
  let content: string
  try {
    content = await readFile(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
  try {
    return SessionRecord.parse(JSON.parse(content))
  } catch (cause) {
    throw new HoldfastError('internal', `the session record ${path} cannot be read`, {}, { cause })
  }
}
