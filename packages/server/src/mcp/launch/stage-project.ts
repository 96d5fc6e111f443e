/**
 * A copy of an MCP server's project in its box, made when the project is new or has changed.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * The host's directory is only read, so one that may not be written does as well. The copy is unpacked by the sandbox itself, beside the
 * old one, and takes its place when it is whole; what the box made at its top (an environment, caches) moves over. A note of what was
 * copied is written last, so a copy that was cut off is made anew. One server's project is copied by one caller at a time.
 */
import type { FileHandle } from 'node:fs/promises'
import { isHoldfastError } from '@holdfast/protocol'
import { randomId } from '../../home/random-id.ts'
import type { FileTarget, SessionFiles } from '../../sessions/session-files.ts'
import { KEPT_NAMES } from './copy-rules.ts'
import type { BoxPlaces } from './box-places.ts'
import { readNote, writeNote } from './box-notes.ts'
import { givenUp } from './given-up.ts'
import type { StagePlan } from './plan.ts'
import type { OnProgress } from './progress.ts'
import { withProject } from './project-entries.ts'
import type { ProjectEntry, ProjectList } from './project-entries.ts'
import { tarArchive } from './tar-archive.ts'

/** Whose session, and which. */
export type LaunchTarget = Pick<FileTarget, 'caller' | 'sessionId'>
export type StageFiles = Pick<SessionFiles, 'read' | 'write' | 'list' | 'move' | 'remove' | 'unpack'>

export interface Staged {
  /** `false`: the copy that was there is the same. */
  readonly isCopied: boolean
  readonly files: number
  readonly bytes: number
  readonly notes: readonly string[]
}

const PROGRESS_FILES = 200
const PROGRESS_BYTES = 8 * 1024 * 1024
const MAXIMUM_LEFTOVERS = 1_000

/** Throws `payload_too_large`, `mount_refused`, `no_space`, and what else becomes of files. */
export async function stageProject(
  files: StageFiles,
  target: LaunchTarget,
  { source, places }: StagePlan,
  onProgress: OnProgress,
  signal: AbortSignal,
): Promise<Staged> {
  const at: FileTarget = { ...target, signal }
  return withProject(source, async (top, list) => {
    const told = { files: list.files, bytes: list.bytes, notes: list.notes }
    if ((await readNote(files, at, places.projectNote)) === list.mark) return { isCopied: false, ...told }
    await copy(files, at, places, top, list, onProgress)
    return { isCopied: true, ...told }
  }).catch((error: unknown) => Promise.reject(signal.aborted ? givenUp(signal, 'the copy of the project') : error))
}

async function copy(
  files: StageFiles,
  at: FileTarget,
  places: BoxPlaces,
  top: FileHandle,
  list: ProjectList,
  onProgress: OnProgress,
): Promise<void> {
  const size = `${list.files} files, ${megabytes(list.bytes)}`
  onProgress(`copying the project: ${size}`)
  for (const line of list.notes) onProgress(line)
  const fresh = `${places.project}.${randomId('new')}`
  await removeLeftovers(files, at, places)
  await files.unpack(at, fresh, tarArchive(top, list.entries, counting(list, onProgress)))
  await files.remove(at, places.projectNote, { recursive: false }).catch(unlessMissing)
  await replace(files, at, places, fresh)
  await writeNote(files, at, places.projectNote, list.mark)
  onProgress(`copied the project: ${size}`)
}

/** Of copies that were cut off. */
async function removeLeftovers(files: StageFiles, at: FileTarget, { base }: BoxPlaces): Promise<void> {
  const found = await files.list(at, base, { depth: 1, limit: MAXIMUM_LEFTOVERS }).catch((error: unknown) => {
    unlessMissing(error)
    return { items: [] }
  })
  for (const { path } of found.items)
    if (path.startsWith(`${base}/project.new_`)) await files.remove(at, path, { recursive: true }).catch(unlessMissing)
}

async function replace(files: StageFiles, at: FileTarget, { project }: BoxPlaces, fresh: string): Promise<void> {
  for (const name of KEPT_NAMES)
    await files.move(at, `${project}/${name}`, `${fresh}/${name}`, { parents: false, exclusive: true }).catch(unlessMissingOrThere)
  await files.remove(at, project, { recursive: true }).catch(unlessMissing)
  await files.move(at, fresh, project, { parents: false, exclusive: true })
}

function counting({ files, bytes }: ProjectList, onProgress: OnProgress): (entry: ProjectEntry) => void {
  let [doneFiles, doneBytes, toldFiles, toldBytes] = [0, 0, 0, 0]
  return ({ kind, size }) => {
    if (kind !== 'file') return
    doneFiles += 1
    doneBytes += size
    if (doneFiles - toldFiles < PROGRESS_FILES && doneBytes - toldBytes < PROGRESS_BYTES) return
    ;[toldFiles, toldBytes] = [doneFiles, doneBytes]
    onProgress(`copying the project: ${doneFiles} of ${files} files, ${megabytes(doneBytes)} of ${megabytes(bytes)}`)
  }
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}

function unlessMissing(error: unknown): void {
  if (!isHoldfastError(error, 'file_not_found')) throw error
}

/** A project may have a directory of such a name that is its own. */
function unlessMissingOrThere(error: unknown): void {
  if (!isHoldfastError(error, 'file_exists')) unlessMissing(error)
}
