/**
 * `register_skill`: a directory of the session's workspace becomes a skill of its tenant.
 *
 * ingress → [tools] → access → policy → sessions → sandboxes → guest → result
 *
 * The files come through the guest one after the other and are copied; nothing of the host is read, and no link is followed out.
 */
import { posix } from 'node:path'
import { isHoldfastError } from '@holdfast/protocol'
import type { Entry } from '../guest/inside.ts'
import { auditedSkills } from '../skills/audited-skills.ts'
import { parseSkillText } from '../skills/front-matter.ts'
import type { PackageEntry } from '../skills/skill-store.ts'
import type { Skills } from '../skills/skills.ts'
import type { FileTarget, SessionFiles } from '../sessions/session-files.ts'
import type { Store } from '../store/store.ts'
import type { Tool } from './tool.ts'
import { ToolFailure, toldOfNames } from './tool-failure.ts'
import { absolutePath } from './tool-paths.ts'

const MAX_LISTED = 10_000
const MAX_ENTRIES = 512
const MAX_DEPTH = 32
const MAX_TEXT_BYTES = 1_048_576
/** What is made anew wherever the skill is used. */
const LEFT_OUT = new Set(['.git', 'node_modules', '__pycache__', '.venv', 'venv'])
const ENTRY_FILES: readonly string[] = ['SKILL.md', 'skill.md']

export interface RegisterSkillToolNeeds {
  readonly files: Pick<SessionFiles, 'list' | 'read'>
  readonly skills: Pick<Skills, 'forTenant'>
  /** Holds the audit. */
  readonly store: Store
  readonly clock: () => number
}

export function registerSkillTool({ files, skills, store, clock }: RegisterSkillToolNeeds): Tool<'register_skill'> {
  return {
    name: 'register_skill',
    description:
      'Keep a directory that you have prepared in /workspace as a skill, for this and for other conversations. ' +
      'It holds a SKILL.md with a name, a description and instructions, and whatever these need.',
    async run({ target, session, requireSkillWriter }, input) {
      const writer = requireSkillWriter()
      const root = posix.normalize(absolutePath(session, input.path)).replace(/(?<!\/)\/+$/, '')
      const entries = await entriesOf(files, target, root)
      const name = input.name ?? (await nameIn(files, target, root, entries)) ?? posix.basename(root)
      const fields = { displayName: input.display_name, description: input.description, instructions: input.instructions }
      const { tenantId } = session
      const by = { ...writer, sessionId: session.id }
      const audited = auditedSkills({ skills: skills.forTenant(tenantId), store, clock, tenantId, by })
      const skill = await toldOfNames(() => audited.adopt(name, packageEntries(files, target, root, entries), fields))
      return {
        ok: true,
        skill_name: skill.name,
        display_name: skill.displayName,
        description: skill.description,
        python_project: skill.pythonProject,
      }
    },
  }
}

async function entriesOf(files: RegisterSkillToolNeeds['files'], target: FileTarget, root: string): Promise<readonly Entry[]> {
  const { items, truncated } = await files.list(target, root, { depth: MAX_DEPTH, limit: MAX_LISTED })
  const entries = items.filter(
    ({ path }) =>
      !relative(root, path)
        .split('/')
        .some((part) => LEFT_OUT.has(part)),
  )
  if (truncated || entries.length > MAX_ENTRIES)
    throw new ToolFailure(`path: a skill has at most ${MAX_ENTRIES} files and directories, and ${root} has more`)
  const other = entries.find(({ type }) => type !== 'file' && type !== 'directory')
  if (other !== undefined)
    throw new ToolFailure(`path: a skill is made of files and directories, and ${relative(root, other.path)} is a ${other.type}`)
  return entries
}

/** As its own text says it. */
async function nameIn(
  files: RegisterSkillToolNeeds['files'],
  target: FileTarget,
  root: string,
  entries: readonly Entry[],
): Promise<string | null> {
  const entry = ENTRY_FILES.map((name) => entries.find(({ path }) => relative(root, path) === name)).find((found) => found !== undefined)
  if (entry === undefined || entry.size > MAX_TEXT_BYTES) return null
  const { content } = await files.read(target, entry.path, ({ size }) => ({ offset: 0, length: Math.min(size, MAX_TEXT_BYTES) }))
  const pieces: Buffer[] = []
  if (content !== null) for await (const piece of content as AsyncIterable<Buffer>) pieces.push(piece)
  try {
    const { name } = parseSkillText(Buffer.concat(pieces).toString('utf8'))
    return name.trim() === '' ? null : name.trim()
  } catch (error) {
    if (!isHoldfastError(error)) throw error
    throw new ToolFailure(`${posix.basename(entry.path)}: ${error.message}`, { cause: error })
  }
}

async function* packageEntries(
  files: RegisterSkillToolNeeds['files'],
  target: FileTarget,
  root: string,
  entries: readonly Entry[],
): AsyncGenerator<PackageEntry> {
  for (const entry of entries) {
    const path = relative(root, entry.path)
    if (entry.type === 'directory') yield { kind: 'directory', path }
    else {
      const { content } = await files.read(target, entry.path, ({ size }) => (size === 0 ? null : { offset: 0, length: size }))
      yield { kind: 'file', path, isExecutable: (entry.mode & 0o100) !== 0, content: content ?? [] }
      content?.destroy()
    }
  }
}

function relative(root: string, path: string): string {
  return path.slice(root.length + 1)
}
