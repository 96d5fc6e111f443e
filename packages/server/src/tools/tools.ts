/**
 * What a model is offered: commands, files and skills of its session.
 *
 * ingress → [tools] → access → policy → sessions → sandboxes → guest → result
 *
 * Whoever calls a tool is let in as everywhere else, and is refused as everywhere else. What then goes wrong is a result that says so,
 * in words for the model.
 */
import { fieldProblems, HoldfastError, problemSentence, TOOL_SHAPES } from '@holdfast/protocol'
import type { ToolDefinition, ToolName } from '@holdfast/protocol'
import type { Caller } from '../sessions/caller.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { Skills } from '../skills/skills.ts'
import type { Store } from '../store/store.ts'
import { activateTool } from './activate-tool.ts'
import { definitionOf } from './definitions.ts'
import { editTool } from './edit-tool.ts'
import { execTool } from './exec-tool.ts'
import { globTool } from './glob-tool.ts'
import { grepTool } from './grep-tool.ts'
import { GUIDANCE } from './guidance.ts'
import { previewTool } from './preview-tool.ts'
import { processTools } from './process-tools.ts'
import { readTool } from './read-tool.ts'
import { registerSkillTool } from './register-skill-tool.ts'
import { createSessionSkills } from './session-skills.ts'
import type { SessionSkillsNeeds } from './session-skills.ts'
import { createSessionTurns } from './session-turns.ts'
import { TOOL_VERBS } from './tool.ts'
import type { OnOutput, SkillWriter, Tool, ToolCall } from './tool.ts'
import { ToolFailure, toldFailure } from './tool-failure.ts'
import { writeTool } from './write-tool.ts'

export interface ToolContext {
  readonly sessionId: string
  /** Throws `forbidden` unless the caller may change the skills of its tenant; left out: nobody may. */
  requireSkillWriter?(): SkillWriter
  /** Makes a link for a browser to what listens on this port; left out: there are none. */
  previewLink?(port: number): Promise<{ readonly url: string; readonly expires_at: string }>
  /** Hears what a command prints while it runs. */
  readonly onOutput?: OnOutput | undefined
  /** Its model can look at images. */
  readonly showsImages?: boolean | undefined
}

export interface Tools {
  definitions(): readonly ToolDefinition[]
  /** For the system message of a model that has them. */
  guidance(): string
  /** Throws for whoever may not call it in this session. */
  check(caller: Caller, name: string, sessionId: string): Promise<void>
  /** Throws for whoever may not; everything else that fails is a result. */
  call(caller: Caller, context: ToolContext, name: string, input: unknown, signal: AbortSignal): Promise<object>
}

export interface ToolsNeeds extends Pick<SessionSkillsNeeds, 'views' | 'boundSkills'> {
  readonly store: Store
  readonly sessions: Pick<Sessions, 'reads' | 'commands' | 'files' | 'ports' | 'processes'>
  readonly skills: Pick<Skills, 'forTenant'>
  readonly clock: () => number
  /** Of each stream of a command. */
  readonly outputCharacters: number
}

export function createTools({ store, sessions, skills, clock, outputCharacters, ...showing }: ToolsNeeds): Tools {
  const { reads, commands, files, ports, processes } = sessions
  const turns = createSessionTurns()
  const sessionSkills = createSessionSkills({ files, turns, skills, ...showing })
  const process = processTools({ processes, commands, outputCharacters })
  const tools = [
    prepared(execTool({ commands, skills: sessionSkills, outputCharacters })),
    prepared(readTool(files)),
    prepared(writeTool({ files, turns })),
    prepared(editTool({ files, turns })),
    prepared(globTool(files)),
    prepared(grepTool(files)),
    prepared(activateTool(sessionSkills)),
    prepared(registerSkillTool({ files, skills, store, clock })),
    prepared(previewTool(ports)),
    prepared(process.start),
    prepared(process.list),
    prepared(process.logs),
    prepared(process.stop),
  ]
  // Written as JSON Schema on first use: that is a tenth of the start of a server, and many servers are never asked.
  let definitions: readonly ToolDefinition[] | null = null

  function named(name: string): PreparedTool {
    const tool = tools.find((each) => each.name === name)
    if (tool !== undefined) return tool
    const names = tools.map((each) => each.name).join(', ')
    throw new HoldfastError('not_found', `there is no tool '${name.slice(0, 64)}'; there are ${names}`)
  }

  return {
    definitions: () => (definitions ??= tools.map(definitionOf)),
    guidance: () => GUIDANCE,
    async check(caller, name, sessionId) {
      await reads.open(caller, TOOL_VERBS[named(name).name], sessionId)
    },
    async call(caller, { sessionId, requireSkillWriter = nobody, previewLink = noLinks, onOutput, showsImages }, name, input, signal) {
      const tool = named(name)
      const session = await reads.open(caller, TOOL_VERBS[tool.name], sessionId)
      try {
        const target = { caller, sessionId, signal }
        return await tool.run({ caller, session, target, signal, requireSkillWriter, previewLink, onOutput, showsImages }, input)
      } catch (error) {
        return toldFailure(error)
      }
    },
  }
}

interface PreparedTool {
  readonly name: ToolName
  readonly description: string
  run(call: ToolCall, input: unknown): Promise<object>
}

/** With its input checked by the schema that the model was shown. */
function prepared<N extends ToolName>({ name, description, run }: Tool<N>): PreparedTool {
  return {
    ...{ name, description },
    run(call, input) {
      const parsed = TOOL_SHAPES[name].input.safeParse(input)
      if (!parsed.success) throw new ToolFailure(problemSentence(fieldProblems(parsed.error)))
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema of this name gives the input of this name
      return run(call, parsed.data as Parameters<typeof run>[1])
    },
  }
}

function nobody(): never {
  throw new HoldfastError('forbidden', 'you may not change the skills of this tenant', { verb: 'write-skills' })
}

async function noLinks(): Promise<never> {
  throw new ToolFailure('links are not given here')
}
