/**
 * What is kept of a managed process beside its execution: what was started, sealed, and up to where its output was taken.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * One directory per session, so that a server that starts again tells of its processes as before. Commands are secrets at rest like others.
 * A place that was lost makes lines come twice, never not at all.
 */
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import { z } from 'zod'
import { hasErrorCode } from '../../../home/error-code.ts'
import { randomId } from '../../../home/random-id.ts'
import { removeTree } from '../../../home/remove-tree.ts'
import type { Sealing } from '../../../home/sealing.ts'
import type { ProcessPlaces } from '../../../sessions/processes/process-places.ts'

const SESSION_ID = /^ses_[0-9a-z]{16}$/
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

const Launch = z.object({
  process_id: z.string(),
  command: z.string(),
  args: z.array(z.string()),
  cwd: z.string(),
  env_keys: z.array(z.string()),
})
export type Launch = z.output<typeof Launch>

const Place = z.object({ executionId: z.string(), seq: z.int().nonnegative() })

export interface ProcessRecords extends ProcessPlaces {
  writeLaunch(sessionId: string, name: string, launch: Launch): Promise<void>
  /** `null` when there is none. */
  readLaunch(sessionId: string, name: string): Promise<Launch | null>
  remove(sessionId: string): Promise<void>
  /** The sessions that have any. */
  sessions(): Promise<readonly string[]>
}

export function createProcessRecords({ directory, sealing }: { readonly directory: string; readonly sealing: Sealing }): ProcessRecords {
  function placeOf(sessionId: string): string {
    if (!SESSION_ID.test(sessionId)) throw new HoldfastError('internal', 'a session id is not what the server makes')
    return join(directory, sessionId)
  }
  function pathOf(sessionId: string, name: string, kind: 'launch' | 'place'): string {
    if (!NAME.test(name)) throw new HoldfastError('internal', 'the name of a process is not what the server makes')
    return join(placeOf(sessionId), `${name}.${kind}`)
  }

  async function write(path: string, sessionId: string, content: Uint8Array | string): Promise<void> {
    await mkdir(placeOf(sessionId), { recursive: true, mode: 0o700 })
    const draft = `${path}.${randomId('new')}`
    await writeFile(draft, content, { mode: 0o600 })
    await rename(draft, path)
  }

  return {
    async writeLaunch(sessionId, name, launch) {
      const sealed = sealing.seal(Buffer.from(JSON.stringify(launch)), contextOf(sessionId, name))
      await write(pathOf(sessionId, name, 'launch'), sessionId, sealed)
    },
    async readLaunch(sessionId, name) {
      const sealed = await readOrNull(pathOf(sessionId, name, 'launch'))
      if (sealed === null) return null
      try {
        return Launch.parse(JSON.parse(Buffer.from(sealing.open(sealed, contextOf(sessionId, name))).toString()))
      } catch (error) {
        // Decision: one that was sealed with another key is as good as none; the process itself is known without it.
        if (isHoldfastError(error, 'config_invalid')) return null
        throw error
      }
    },
    async writePlace(sessionId, name, place) {
      await write(pathOf(sessionId, name, 'place'), sessionId, JSON.stringify(place))
    },
    async readPlace(sessionId, name, executionId) {
      const text = await readOrNull(pathOf(sessionId, name, 'place'))
      const place = text === null ? null : Place.parse(JSON.parse(text.toString()))
      return place?.executionId === executionId ? place.seq : 0
    },
    remove: (sessionId) => removeTree(placeOf(sessionId)),
    async sessions() {
      const names = await readdir(directory).catch((error: unknown) => {
        if (hasErrorCode(error, 'ENOENT')) return []
        throw error
      })
      return names.filter((name) => SESSION_ID.test(name))
    },
  }
}

function contextOf(sessionId: string, name: string): string {
  return `managed process ${sessionId} ${name}`
}

async function readOrNull(path: string): Promise<Buffer | null> {
  return readFile(path).catch((error: unknown) => {
    if (hasErrorCode(error, 'ENOENT')) return null
    throw error
  })
}
