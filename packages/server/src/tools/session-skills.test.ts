/** Which skills a session may activate, which it has, and which a command is about. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { BoundSkill } from '../skills/skill-views.ts'
import { createSkills } from '../skills/skills.ts'
import type { SessionRow } from '../store/tables/sessions.ts'
import { jsonLog } from '../telemetry/log.ts'
import { atAnyDepth } from './glob-tool.ts'
import { createSessionSkills, mentioned } from './session-skills.ts'
import { createSessionTurns } from './session-turns.ts'
import type { ToolCall } from './tool.ts'
import { ToolFailure } from './tool-failure.ts'

const directory = mkdtempSync(join(tmpdir(), 'holdfast-tools-'))
const skills = createSkills({ directory, clock: Date.now, log: jsonLog('error', () => undefined) })
beforeAll(async () => {
  for (const name of ['one', 'two', 'three']) await skills.forTenant('tnt_a').create({ name, instructions: `How to ${name}.` })
  await skills.forTenant('tnt_b').create({ name: 'foreign', instructions: 'Not for others.' })
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

/** A session with a view that only remembers. */
function sessionWith({
  bound = null as readonly string[] | null,
  packKey = null as string | null,
  hasView = true,
  missing = [] as string[],
} = {}) {
  let shown: readonly BoundSkill[] = []
  const sessionSkills = createSessionSkills({
    turns: createSessionTurns(),
    skills,
    boundSkills: () => bound,
    files: {
      async stat() {
        if (hasView) return null as never
        throw new HoldfastError('file_not_found', 'there is no such directory (ENOENT)')
      },
    },
    views: {
      async fill(_id, wanted) {
        shown = wanted
        return { shown: wanted.map(({ name }) => name), missing }
      },
      bound: async () => shown,
    },
  })
  const call = { session: { id: 'ses_1', tenantId: 'tnt_a', packKey } as SessionRow } as ToolCall
  return { ...sessionSkills, call, shown: () => shown.map(({ name }) => name).toSorted() }
}

test('one after the other is shown beside those before, and only those of the tenant exist', async () => {
  const { activate, call, shown } = sessionWith()
  expect(await activate(call, 'one')).toMatchObject({ name: 'one', instructions: 'How to one.' })
  await Promise.all([activate(call, 'two'), activate(call, 'three')])
  expect(shown()).toEqual(['one', 'three', 'two'])
  await expect(activate(call, 'foreign')).rejects.toThrow(/^there is no skill 'foreign' here; there are (?=.*one)(?=.*two)(?=.*three)/)
})

test('a session of a pipeline has the skills of the pipeline and no others', async () => {
  const { activate, call, shown } = sessionWith({ bound: ['two', 'gone'] })
  await activate(call, 'two')
  await expect(activate(call, 'one')).rejects.toThrow("there is no skill 'one' here; there are two")
  expect(shown()).toEqual(['two'])
  await expect(sessionWith({ bound: [] }).activate(call, 'one')).rejects.toThrow('there are none')
})

test('a sandbox that cannot show skills says so, and so does a package that is not there', async () => {
  const packed = sessionWith({ packKey: 'p' })
  await expect(packed.activate(packed.call, 'one')).rejects.toMatchObject({ code: 'capability_unsupported' })
  const viewless = sessionWith({ hasView: false })
  await expect(viewless.activate(viewless.call, 'one')).rejects.toThrow(ToolFailure)
  const gone = sessionWith({ missing: ['one'] })
  await expect(gone.activate(gone.call, 'one')).rejects.toThrow(/missing on the server/)
})

test('a command is left as it is, unless it uses a Python project', async () => {
  const { activate, prepared, call } = sessionWith()
  expect(await prepared(call, { command: 'ls', workdir: '/workspace' })).toBe('ls')
  const inside = { command: 'python a.py', workdir: '/workspace/.skills/one' }
  await expect(prepared(call, inside)).rejects.toThrow("the skill 'one' is not activated")
  await activate(call, 'one')
  expect(await prepared(call, inside)).toBe('python a.py')
  await skills.forTenant('tnt_a').writeFile('one', 'requirements.txt', '')
  expect(await prepared(call, inside)).toMatch(/\.skill-envs\/one[^]*python a\.py/)
  await expect(prepared(call, { command: 'cat /workspace/.skills/two/x', workdir: inside.workdir })).rejects.toThrow('one, two')
})

test.each([
  ['python3 run.py', '/workspace', []],
  ['python3 run.py', '/workspace/.skills/pdf', ['pdf']],
  ['python3 run.py', '/workspace/x/../.skills/pdf/scripts/', ['pdf']],
  ['sh /workspace/.skills/pdf/a.sh && cat /workspace/.skills/表格-1/SKILL.md', '/workspace', ['pdf', '表格-1']],
  ['ls /workspace/.skills', '/workspace/.skills', []],
  ['cat /workspace/xskills/a', '/workspace', []],
])('%s in %s is about %j', (command, workdir, names) => {
  expect(mentioned(command, workdir)).toEqual(names)
})

test.each([
  ['*.py', '/workspace', '**/*.py'],
  ['**/*.py', '/workspace', '**/*.py'],
  ['./src/*.ts', '/workspace', '**/src/*.ts'],
  ['/workspace/src/*.ts', '/workspace', '**/src/*.ts'],
])('%s below %s is %s', (pattern, path, expected) => {
  expect(atAnyDepth(pattern, path)).toBe(expected)
})

test('a pattern of another place says where it belongs', () => {
  expect(() => atAnyDepth('/etc/*', '/workspace')).toThrow('pattern: must be relative to path, which is /workspace')
})
