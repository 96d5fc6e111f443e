/**
 * `activate`: a skill's instructions for the model, and its files for the sandbox.
 *
 * ingress → [tools] → access → policy → sessions → sandboxes → guest → result
 */
import type { SessionSkills } from './session-skills.ts'
import type { Tool } from './tool.ts'
import { toldOfNames } from './tool-failure.ts'
import { SKILLS_TARGET } from '../skills/skill-views.ts'

export function activateTool(skills: Pick<SessionSkills, 'activate'>): Tool<'activate'> {
  return {
    name: 'activate',
    description:
      'Activate a skill: you get its instructions, and its files appear below /workspace/.skills. ' +
      'Activate it again to get its newest version.',
    async run(call, { skill_name: name }) {
      const { displayName, description, instructions } = await toldOfNames(() => skills.activate(call, name))
      return {
        ok: true,
        skill_name: name,
        display_name: displayName,
        description,
        instructions,
        path: `${SKILLS_TARGET}/${name}`,
      }
    },
  }
}
