/**
 * What a session's sandbox sees of skills: a directory that is mounted once, and filled while the sandbox runs.
 *
 * Stands beside the flow.
 *
 * ```
 * <views>/<session id>
 *   shown          mounted at /workspace/.skills; the server's own
 *     <name>       a copy of the package, which belongs to the sandbox's user: it may do there what it likes
 *   making         copies that are not whole yet, and those on their way out; belongs to the user whom the copies belong to
 *   bound.json     which skills the session has, and of what state each copy is
 * ```
 *
 * Copies, so that no sandbox can change a skill for others. A package that changed is copied anew, and takes the place of the old copy
 * by two renames: a program sees the old one, for a blink none, then the new one, and never parts of both. Where the server has no second
 * user to give (it is not root), a sandbox may also rename and replace what is in `shown`, so nothing there is followed or taken for granted.
 */
import { lstat, mkdir, readdir, readFile, realpath, rename, writeFile } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import { z } from 'zod'
import { hasErrorCode } from '../home/error-code.ts'
import { randomId } from '../home/random-id.ts'
import { removeTree } from '../home/remove-tree.ts'
import type { SandboxFiles } from '../home/sandbox-files.ts'
import type { SandboxUser } from '../sandboxes/spec.ts'
import { errorText } from '../telemetry/log.ts'
import type { Log } from '../telemetry/log.ts'
import { emptyRubbish, grant } from './rubbish.ts'
import { createSerialQueue } from './serial-queue.ts'
import type { SerialQueue } from './serial-queue.ts'
import { isSkillName } from './skill.ts'
import { recentMarks } from './recent-marks.ts'
import { copyPackage, markOf } from './walk-package.ts'

/** Where a sandbox sees it. */
export const SKILLS_TARGET = '/workspace/.skills'

export interface BoundSkill {
  readonly name: string
  readonly packageRoot: string
}

export interface FilledView {
  readonly shown: readonly string[]
  /** Packages that are not there, or cannot be shown; why is in the log. */
  readonly missing: readonly string[]
}

export interface SkillViews {
  /** The directory to mount, made if need be. */
  place(sessionId: string): Promise<string>
  /** The same directory, there or not. */
  shownAt(sessionId: string): string
  /** Copies belong to this user of the host from now on. No sandbox of the session may run. Safe to repeat, also after a crash. */
  give(sessionId: string, user: SandboxUser): Promise<void>
  /** Shows exactly these, as their packages are now. Throws `capability_unsupported` for a session whose sandbox has no view. */
  fill(sessionId: string, skills: readonly BoundSkill[]): Promise<FilledView>
  /** What `fill` was last given. */
  bound(sessionId: string): Promise<readonly BoundSkill[]>
  /** Fills anew every view that shows a package below this directory. Never rejects. */
  refresh(directory: string): Promise<void>
  /** The sandbox must be gone. Safe to repeat. */
  remove(sessionId: string): Promise<void>
  /** Resolves when no view is being refreshed. */
  settled(): Promise<void>
}

export interface SkillViewsNeeds {
  readonly directory: string
  /** The user that all sandboxes have in common. */
  readonly user: SandboxUser
  readonly files: SandboxFiles
  readonly clock: () => number
  readonly log: Log
}

const Bound = z.array(z.object({ name: z.string(), packageRoot: z.string(), mark: z.string().nullable() }))
/** `mark`: of the package when it was copied; `null`: it is not shown. */
type Bound = z.output<typeof Bound>

const SESSION_ID = /^ses_[0-9a-z]{16}$/
/** Against a sandbox that puts something in the way just now. */
const TRIES = 3
/** However many files a program left, all of them go; but one that cannot be ended is not fought with for ever. */
const REMOVALS = 200
/** A package that changes while it is copied. */
const COPIES = 3

export function createSkillViews({ directory, user, files, clock, log }: SkillViewsNeeds): SkillViews {
  const known = new Map<string, { readonly inTurn: SerialQueue; bound: Bound | null }>()
  const refreshing = new Set<Promise<void>>()
  const marks = recentMarks(clock)
  let isEachKnown = false

  function viewOf(sessionId: string) {
    if (!SESSION_ID.test(sessionId)) throw new HoldfastError('internal', 'a session id is not what the server makes')
    const home = join(directory, sessionId)
    const view = known.get(sessionId) ?? { inTurn: createSerialQueue(), bound: null }
    known.set(sessionId, view)
    return { ...places(home), home, view, inTurn: view.inTurn }
  }

  async function boundOf(sessionId: string): Promise<Bound> {
    const { view, list } = viewOf(sessionId)
    return (view.bound ??= await readBound(list))
  }

  async function remember(sessionId: string, bound: Bound): Promise<void> {
    const { view, list } = viewOf(sessionId)
    await writeFile(`${list}.new`, JSON.stringify(bound), { mode: 0o600 })
    await rename(`${list}.new`, list)
    view.bound = bound
  }

  async function fillInTurn(sessionId: string, skills: readonly BoundSkill[]): Promise<FilledView> {
    const { shown, making } = viewOf(sessionId)
    if (!(await isDirectory(shown)))
      throw new HoldfastError(
        'capability_unsupported',
        'the sandbox of this session has no place for skills: it is packed, or older than they are',
        {
          capability: 'skills',
        },
      )
    const before = await boundOf(sessionId)
    if (skills.length === 0 && before.length === 0) return { shown: [], missing: [] }
    const wanted = [...new Map(skills.map((skill) => [skill.name, skill])).values()]
    const after: Bound = []
    for (const { name, packageRoot } of wanted) {
      const earlier = before.find((each) => each.name === name && each.packageRoot === packageRoot)
      after.push({ name, packageRoot, mark: await showOne({ sessionId, name, packageRoot, earlier: earlier?.mark }) })
    }
    const isGone = ({ name, mark }: Bound[number]) => mark !== null && after.every((each) => each.name !== name || each.mark === null)
    for (const { name } of before.filter(isGone)) await takeOut(files, shown, making, name)
    if (JSON.stringify(before) !== JSON.stringify(after)) {
      await remember(sessionId, after)
      await clearAway(sessionId, making)
    }
    const isShown = ({ mark }: Bound[number]) => mark !== null
    return { shown: after.filter(isShown).map(({ name }) => name), missing: after.filter((each) => !isShown(each)).map(({ name }) => name) }
  }

  /** What stays is met again at the next change, or goes with the session. */
  async function clearAway(sessionId: string, bin: string, rounds = 1): Promise<boolean> {
    try {
      for (let round = 0; round < rounds; round += 1) if (await emptyRubbish(bin)) return true
      log.info('skill-copy-not-removed-yet', { session: sessionId })
    } catch (error) {
      log.warn('skill-copy-not-removed-yet', { session: sessionId, reason: errorText(error) })
    }
    return false
  }

  /** The mark of what is shown now; `null` when it cannot be. */
  async function showOne(
    wish: BoundSkill & { readonly sessionId: string; readonly earlier: string | null | undefined },
  ): Promise<string | null> {
    const { sessionId, name, packageRoot, earlier } = wish
    const { shown, making } = viewOf(sessionId)
    try {
      if (!isSkillName(name)) throw new HoldfastError('invalid_request', 'it has a name that no skill can have')
      let mark = await marks.of(packageRoot)
      if (mark === earlier && (await isDirectory(join(shown, name)))) return mark
      for (let copy = 1; ; copy += 1) {
        const fresh = join(making, randomId('copy'))
        const owner = await userOf(making)
        await copyPackage(packageRoot, fresh, owner)
        const after = await markOf(packageRoot)
        // One that never rests is shown as it came.
        if (after === mark || copy === COPIES) {
          await putIn(files, shown, making, name, fresh)
          // Not before: a directory of somebody else cannot be moved by a server that is not root.
          await files.settle(join(shown, name), owner)
          return mark
        }
        mark = after
        await removeTree(fresh)
      }
    } catch (error) {
      // Told once, and not at every command.
      if (earlier !== null)
        log.warn('skill-not-shown', { session: sessionId, skill: isSkillName(name) ? name : '', reason: reasonOf(error) })
      return null
    }
  }

  /** Of the copies in a view: the owner of `making`. It is root's until a sandbox is made that has a user of its own. */
  async function userOf(making: string): Promise<SandboxUser> {
    const { uid, gid } = await lstat(making)
    return uid === 0 ? user : { uid, gid }
  }

  async function eachSession(): Promise<readonly string[]> {
    if (!isEachKnown) {
      const entries = await readdir(directory).catch((error: unknown) => {
        if (hasErrorCode(error, 'ENOENT')) return []
        throw error
      })
      for (const sessionId of entries.filter((name) => SESSION_ID.test(name))) viewOf(sessionId)
      isEachKnown = true
    }
    return [...known.keys()]
  }

  async function refreshAll(changed: string): Promise<void> {
    for (const sessionId of await eachSession()) {
      try {
        await viewOf(sessionId).inTurn(async () => {
          const bound = await boundOf(sessionId)
          if (bound.some(({ packageRoot }) => packageRoot.startsWith(`${changed}${sep}`))) await fillInTurn(sessionId, bound)
        })
      } catch (error) {
        log.warn('skill-view-not-refreshed', { session: sessionId, reason: errorText(error) })
      }
    }
  }

  return {
    shownAt: (sessionId) => places(join(directory, sessionId)).shown,
    async place(sessionId) {
      const { shown, making } = viewOf(sessionId)
      await mkdir(making, { recursive: true, mode: 0o700 })
      await mkdir(shown, { recursive: true, mode: 0o755 })
      await grant(shown, 0o755)
      return realpath(shown)
    },
    give: async (sessionId, { uid, gid }) =>
      viewOf(sessionId).inTurn(async () => {
        const { shown, making } = viewOf(sessionId)
        if (!files.canGive) return
        const [before, names] = await Promise.all([userOf(making), readdir(shown)])
        if (before.uid === uid) return
        // A server that is not root still puts copies there; nobody else can reach it.
        await files.open(making)
        for (const name of names) await files.give(join(shown, name), { uid, gid })
        await files.giveOwn(making, { uid, gid })
      }),
    fill: async (sessionId, skills) => viewOf(sessionId).inTurn(() => fillInTurn(sessionId, skills)),
    bound: async (sessionId) =>
      viewOf(sessionId).inTurn(async () => (await boundOf(sessionId)).map(({ name, packageRoot }) => ({ name, packageRoot }))),
    refresh(changed) {
      marks.forget()
      const work = refreshAll(changed).catch((error: unknown) => log.warn('skill-view-not-refreshed', { reason: errorText(error) }))
      refreshing.add(work)
      return work.finally(() => refreshing.delete(work))
    },
    remove: async (sessionId) =>
      viewOf(sessionId).inTurn(async () => {
        const { home } = viewOf(sessionId)
        await files.takeBack(home)
        // A sandbox that cannot be proved gone may still be at work.
        if (await clearAway(sessionId, home, REMOVALS)) await removeTree(home)
        known.delete(sessionId)
      }),
    async settled() {
      while (refreshing.size > 0) await Promise.all(refreshing)
    },
  }
}

function places(home: string) {
  return { shown: join(home, 'shown'), making: join(home, 'making'), list: join(home, 'bound.json') }
}

/** In place of whatever has the name. */
async function putIn(files: SandboxFiles, shown: string, making: string, name: string, fresh: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    await takeOut(files, shown, making, name)
    try {
      return await rename(fresh, join(shown, name))
    } catch (error) {
      if (attempt === TRIES || !hasErrorCode(error, 'ENOTEMPTY', 'EEXIST', 'ENOTDIR', 'EACCES')) throw error
    }
  }
}

/** Whatever it has become; nothing is followed. */
async function takeOut(files: SandboxFiles, shown: string, making: string, name: string): Promise<void> {
  const move = () => rename(join(shown, name), join(making, randomId('old')))
  try {
    await move()
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return
    if (!hasErrorCode(error, 'EACCES')) throw error
    // Its owner took away its own rights, and the server has no others.
    await files.takeBack(join(shown, name))
    await grant(shown, 0o755)
    await grant(join(shown, name))
    await move()
  }
}

/** What cannot be read was written by nobody: then nothing is bound, and the copies that are there are replaced. */
async function readBound(list: string): Promise<Bound> {
  try {
    return Bound.parse(JSON.parse(await readFile(list, 'utf8')))
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT') || error instanceof SyntaxError || error instanceof z.ZodError) return []
    throw error
  }
}

/** A link to one is none. */
async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isDirectory()
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT', 'EACCES')) return false
    throw error
  }
}

function reasonOf(error: unknown): string {
  return hasErrorCode(error, 'ENOENT') ? 'its package is not there' : errorText(error)
}
