/**
 * Skills in one session: which there are for it, which it has activated, and what a command that uses one needs.
 *
 * ingress → [tools] → access → policy → sessions → sandboxes → guest → result
 *
 * What is activated is what its view shows, so it is remembered with the view, also over a restart of the server.
 */
import { posix } from 'node:path'
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import type { ToolInput } from '@holdfast/protocol'
import { withPythonEnvironment } from '../skills/python-bootstrap.ts'
import type { Skill } from '../skills/skill.ts'
import { SKILLS_TARGET } from '../skills/skill-views.ts'
import type { SkillViews } from '../skills/skill-views.ts'
import type { Skills } from '../skills/skills.ts'
import type { SessionFiles } from '../sessions/session-files.ts'
import type { SessionRow } from '../store/tables/sessions.ts'
import type { SessionTurns } from './session-turns.ts'
import type { ToolCall } from './tool.ts'
import { ToolFailure } from './tool-failure.ts'

const MENTION = new RegExp(String.raw`${SKILLS_TARGET.replaceAll('.', String.raw`\.`)}/([\p{L}\p{N}_-]+)`, 'gu')

export interface SessionSkills {
  /** The skill, shown in the session's sandbox from now on. */
  activate(call: ToolCall, name: string): Promise<Skill>
  /** The command as it is to be run. Throws a `ToolFailure` for a skill that is not activated. */
  prepared(call: ToolCall, input: Pick<ToolInput<'exec'>, 'command' | 'workdir'>): Promise<string>
}

export interface SessionSkillsNeeds {
  readonly files: Pick<SessionFiles, 'stat'>
  readonly turns: SessionTurns
  readonly skills: Pick<Skills, 'forTenant'>
  readonly views: Pick<SkillViews, 'fill' | 'bound'>
  /** The names that a session may use; `null` for all of its tenant's. */
  boundSkills(session: SessionRow): readonly string[] | null
}

export function createSessionSkills(needs: SessionSkillsNeeds): SessionSkills {
  const { files, turns, skills, views, boundSkills } = needs

  /** With a sandbox that shows them. */
  async function requireView({ target, session }: ToolCall): Promise<void> {
    if (session.packKey !== null)
      throw new HoldfastError('capability_unsupported', 'skills need a sandbox of their own, and this session shares one')
    await files.stat(target, SKILLS_TARGET, { follow: false }).catch((error: unknown) => {
      if (!isHoldfastError(error, 'file_not_found')) throw error
      throw new ToolFailure('this sandbox was made without a place for skills; a new session has one', { cause: error })
    })
  }

  const activatedIn = async ({ session }: ToolCall) => new Set((await views.bound(session.id)).map(({ name }) => name))

  async function availableTo(session: SessionRow): Promise<readonly Skill[]> {
    const all = await skills.forTenant(session.tenantId).list()
    const bound = boundSkills(session)
    return bound === null ? all : all.filter(({ name }) => bound.includes(name))
  }

  return {
    activate: (call, name) =>
      turns.take(call.session.id, async () => {
        await requireView(call)
        const activated = await activatedIn(call)
        const available = await availableTo(call.session)
        const skill = available.find((one) => one.name === name)
        if (skill === undefined) throw new ToolFailure(`there is no skill '${name}' here; ${listed(available)}`)
        const { missing } = await views.fill(
          call.session.id,
          available.filter((one) => one.name === name || activated.has(one.name)),
        )
        if (missing.includes(name)) throw new ToolFailure(`the files of the skill '${name}' are missing on the server`)
        return skill
      }),

    async prepared(call, { command, workdir }) {
      const names = mentioned(command, workdir)
      const [name] = names
      if (name === undefined) return command
      if (names.length > 1) throw new ToolFailure(`one command can use one skill, and this one names ${names.join(', ')}`)
      if (!(await activatedIn(call)).has(name))
        throw new ToolFailure(`the skill '${name}' is not activated; call activate with its name first`)
      const skill = await skills.forTenant(call.session.tenantId).get(name)
      return skill?.pythonProject === true ? withPythonEnvironment(name, command) : command
    },
  }
}

export function mentioned(command: string, workdir: string): readonly string[] {
  const places = [`${posix.normalize(workdir)}/`, command]
  return [...new Set(places.flatMap((text) => [...text.matchAll(MENTION)].map((match) => match[1] ?? '')))]
}

const MAX_LISTED = 50

function listed(skills: readonly Skill[]): string {
  if (skills.length === 0) return 'there are none'
  const names = skills.slice(0, MAX_LISTED).map(({ name }) => name)
  return `there are ${names.join(', ')}${skills.length > MAX_LISTED ? ' and more' : ''}`
}
