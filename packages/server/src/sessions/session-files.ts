/**
 * The files of a session, as they are inside its sandbox and as whoever the session is there.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Every operation asks for the right to `files`, resumes a suspended session and counts as activity. Paths are absolute, or relative
 * to the session's workspace.
 */
import type { Readable } from 'node:stream'
import type { AsUser, Entry, Files, Found, GrepMatch, Limited } from '../guest/inside.ts'
import { SKILLS_TARGET } from '../skills/skill-views.ts'
import type { Caller } from './caller.ts'
import { withFileErrors } from './files/file-errors.ts'
import { innerPath } from './files/inner-path.ts'
import { packFiles } from './files/pack.ts'
import { readFile } from './files/read-file.ts'
import type { OpenedFile, Select } from './files/read-file.ts'
import { unpackFiles } from './files/unpack.ts'
import { watchBelow } from './files/watch.ts'
import type { Watch } from './files/watch.ts'
import type { Insides, Place } from './insides.ts'
import type { WorkspaceQuota } from './workspace-quota/workspace-quota.ts'

export interface WriteOptions {
  readonly mode?: number | undefined
  readonly parents?: boolean
  readonly append?: boolean
  readonly exclusive?: boolean
}

export interface ListOptions {
  readonly depth: number
  readonly limit: number
}

export type GlobOptions = Omit<NonNullable<Parameters<Files['glob']>[1]>, 'root' | 'uid'>
export type GrepOptions = Omit<NonNullable<Parameters<Files['grep']>[1]>, 'root' | 'uid'>

/** One file operation's session, and until when its caller waits. */
export interface FileTarget {
  readonly caller: Caller
  readonly sessionId: string
  readonly signal: AbortSignal
}

export interface SessionFiles {
  /** A file, or what `select` wants of it. */
  read(target: FileTarget, path: string, select: Select): Promise<OpenedFile>
  /** Readers see the old file or the whole new one, unless it is appended to, is a device, or has other names. */
  write(target: FileTarget, path: string, content: AsyncIterable<Uint8Array>, options: WriteOptions): Promise<Entry>
  remove(target: FileTarget, path: string, options: { readonly recursive: boolean }): Promise<void>
  stat(target: FileTarget, path: string, options: { readonly follow: boolean }): Promise<Entry>
  list(target: FileTarget, path: string, options: ListOptions): Promise<Limited<Entry>>
  /** `root` as any path; paths of what is found are absolute. */
  glob(target: FileTarget, root: string, pattern: string, options: GlobOptions): Promise<Found<Entry>>
  grep(target: FileTarget, root: string, pattern: string, options: GrepOptions): Promise<Found<GrepMatch>>
  move(target: FileTarget, from: string, to: string, options: { readonly parents: boolean; readonly exclusive: boolean }): Promise<Entry>
  makeDirectory(
    target: FileTarget,
    path: string,
    options: { readonly parents: boolean; readonly mode?: number | undefined },
  ): Promise<Entry>
  /** Resolves once every change from now on will be seen. Paths of events are absolute. */
  watch(target: FileTarget, path: string, options: { readonly recursive: boolean }): Promise<Watch>
  /** A directory or a file as tar. */
  pack(target: FileTarget, path: string): Promise<{ readonly content: Readable }>
  unpack(target: FileTarget, path: string, archive: AsyncIterable<Uint8Array>): Promise<Entry>
}

export function sessionFiles(insides: Insides, workspaceQuota: Pick<WorkspaceQuota, 'intake'>): SessionFiles {
  /** `at` makes paths absolute, `as` says who does it. */
  function during<T>({ caller, sessionId, signal }: FileTarget, work: (inner: Inner, ended: AbortSignal) => Promise<T>): Promise<T> {
    return insides.during(caller, 'files', sessionId, signal, (place, ended) => withFileErrors(() => work(innerOf(place), ended)))
  }

  /** Content from outside, as far as the workspace may hold it. */
  function taking<T>(
    target: FileTarget,
    content: AsyncIterable<Uint8Array>,
    work: (inner: Inner, content: AsyncIterable<Uint8Array>, ended: AbortSignal) => Promise<T>,
  ): Promise<T> {
    return during(target, async (inner, ended) => {
      const intake = await workspaceQuota.intake(inner.place.session)
      if (intake === null) return work(inner, content, ended)
      const { refused } = intake
      try {
        return await work(inner, intake.counted(content), AbortSignal.any([ended, refused]))
      } catch (error) {
        throw refused.aborted ? refused.reason : error
      } finally {
        intake.close()
      }
    })
  }

  function streaming<T extends { readonly content: Readable | null }>(
    { caller, sessionId, signal }: FileTarget,
    open: (place: Place, ended: AbortSignal) => Promise<T>,
  ): Promise<T> {
    return insides.streaming(caller, 'files', sessionId, signal, (place, ended) => withFileErrors(() => open(place, ended)))
  }

  return {
    read: (target, path, select) => streaming(target, (place, ended) => readFile(place, innerPath(place, path), select, ended)),
    write: (target, path, content, { mode, ...options }) =>
      taking(target, content, async ({ files, as, at, place }, taken, signal) => {
        await files.write(at(path), noted(taken, place), { ...as, ...options, signal, ...(mode === undefined ? {} : { mode }) })
        return files.stat(at(path), { ...as, follow: true })
      }),
    remove: (target, path, { recursive }) => during(target, ({ files, as, at }) => files.remove(at(path), { ...as, recursive })),
    stat: (target, path, { follow }) => during(target, ({ files, as, at }) => files.stat(at(path), { ...as, follow })),
    list: (target, path, options) => during(target, (inner) => listed(inner, path, options)),
    glob: (target, root, pattern, options) =>
      during(target, ({ files, as, at }) => files.glob(pattern, { ...options, ...as, root: at(root) })),
    grep: (target, root, pattern, options) =>
      during(target, ({ files, as, at }) => files.grep(pattern, { ...options, ...as, root: at(root) })),
    move: (target, from, to, options) =>
      during(target, async ({ files, as, at }) => {
        await files.move(at(from), at(to), { ...as, ...options })
        return files.stat(at(to), as)
      }),
    makeDirectory: (target, path, { parents, mode }) =>
      taking(target, NOTHING, async ({ files, as, at }) => {
        await files.mkdir(at(path), { ...as, parents, ...(mode === undefined ? {} : { mode }) })
        return files.stat(at(path), { ...as, follow: true })
      }),
    async watch({ caller, sessionId, signal }, path, { recursive }) {
      const place = await insides.enter(caller, 'files', sessionId, signal)
      try {
        const root = innerPath(place, path)
        return await withFileErrors(() => watchBelow(place, root, recursive, signal, place.leave))
      } catch (error) {
        place.leave()
        throw error
      }
    },
    pack: (target, path) => streaming(target, (place, ended) => packFiles(place, innerPath(place, path), ended)),
    unpack: (target, path, archive) =>
      taking(target, archive, async ({ files, as, at, place }, taken, signal) => {
        await unpackFiles(place, at(path), taken, signal)
        return files.stat(at(path), { ...as, follow: true })
      }),
  }
}

const NOTHING: AsyncIterable<Uint8Array> = { [Symbol.asyncIterator]: () => ({ next: async () => ({ done: true, value: undefined }) }) }

/** What one operation needs of its place. */
interface Inner {
  readonly place: Place
  readonly files: Files
  readonly as: AsUser
  at(path: string): string
}

function innerOf(place: Place): Inner {
  return { place, files: place.inside.files, as: place.as, at: (path) => innerPath(place, path) }
}

/** The mount point of skills is listed once there is something in it: to the session's owner a workspace without files is empty. */
async function listed({ files, as, at }: Inner, path: string, options: ListOptions): Promise<Limited<Entry>> {
  const found = await files.list(at(path), { ...as, ...options })
  const items = found.items.filter((entry) => entry.path !== SKILLS_TARGET)
  if (items.length === found.items.length) return found
  const skills = await files.list(SKILLS_TARGET, { ...as, depth: 1, limit: 1 })
  return skills.items.length > 0 ? found : { ...found, items }
}

async function* noted(content: AsyncIterable<Uint8Array>, { note }: Place): AsyncGenerator<Uint8Array> {
  for await (const piece of content) {
    note()
    yield piece
  }
}
