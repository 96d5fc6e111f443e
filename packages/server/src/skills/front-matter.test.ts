/** The text of a skill: read, and written anew with everything kept that is not ours. */
import { expect, test } from 'vitest'
import { parseSkillText, rewriteSkillText } from './front-matter.ts'

const NONE = { name: '', displayName: '', description: '' }

test('what stands between two lines of --- at the very top is front matter; the rest is told to a model', () => {
  expect(parseSkillText('---\nname: demo\ndisplay_name: Demo\ndescription: d\n---\n\n\n# hi\nbody')).toEqual({
    ...{ name: 'demo', displayName: 'Demo', description: 'd', instructions: '# hi\nbody' },
  })
  expect(parseSkillText('---\r\nname: demo\r\n---\r\n\r\nbody\r\n')).toEqual({ ...NONE, name: 'demo', instructions: 'body\r\n' })
  expect(parseSkillText('\uFEFF---\nname: demo\n---\nbody')).toMatchObject({ name: 'demo', instructions: 'body' })
  expect(parseSkillText('# hi\n---\nname: no\n---\n')).toEqual({ ...NONE, instructions: '# hi\n---\nname: no\n---\n' })
  expect(parseSkillText('---\nname: never ended\n')).toEqual({ ...NONE, instructions: '---\nname: never ended\n' })
  expect(parseSkillText('---\n---\nbody')).toEqual({ ...NONE, instructions: 'body' })
  expect(parseSkillText('---\ndescription: |\n  one\n  ---\n  two\n---\nbody')).toMatchObject({
    description: 'one\n---\ntwo\n',
    instructions: 'body',
  })
})

test('YAML that is no mapping says nothing, and values that are no text are taken as text or not at all', () => {
  expect(parseSkillText('---\n- a\n- b\n---\nbody')).toEqual({ ...NONE, instructions: 'body' })
  expect(parseSkillText('---\nname: 12\ndescription: [a]\n---\n')).toEqual({ ...NONE, name: '12', instructions: '' })
})

test('what is no YAML, or would blow up, is refused', () => {
  const bomb = [
    'a: &a [x,x,x,x,x,x,x,x,x]',
    ...'bcdefgh'.split('').map((key, index) => `${key}: &${key} [${`*${'abcdefg'[index]},`.repeat(9)}]`),
  ]
  for (const yaml of ['a: [', 'a: 1\na: 2', bomb.join('\n'), '['.repeat(60_000), `a: ${'x'.repeat(70_000)}`])
    expect(() => parseSkillText(`---\n${yaml}\n---\n`)).toThrow(expect.objectContaining({ code: 'invalid_request' }))
})

test('a rewrite keeps keys that are not ours, their order and comments', () => {
  const text = '---\n# by hand\nlicense: MIT # kept\nname: demo\nallowed-tools:\n  - Bash\nmetadata: { a: 1 }\ndescription: old\n---\nbody'
  const next = rewriteSkillText(text, { name: 'demo', displayName: 'Demo', description: 'new: "quoted"', instructions: 'other' })
  expect(next).toBe(
    '---\n# by hand\nlicense: MIT # kept\nname: demo\nallowed-tools:\n  - Bash\nmetadata: { a: 1 }\ndescription: \'new: "quoted"\'\ndisplay_name: Demo\n---\n\nother',
  )
  expect(parseSkillText(next)).toEqual({ name: 'demo', displayName: 'Demo', description: 'new: "quoted"', instructions: 'other' })
})

test('a new text has name, display name and description in this order, and no blank ones', () => {
  expect(rewriteSkillText('', { name: 'a', displayName: 'A', description: 'd\ne', instructions: 'x' })).toBe(
    '---\nname: a\ndisplay_name: A\ndescription: |-\n  d\n  e\n---\n\nx',
  )
  expect(rewriteSkillText('---\nname: a\ndescription: d\n---\n', { ...NONE, name: 'a', instructions: '' })).toBe('---\nname: a\n---\n\n')
})

test('whatever the fields hold comes back the same', () => {
  for (const value of ['---', '\n---\n', ' #x', '"', "'", 'yes', '1', '- a', '{a}', '*a', '\u2028é🦞', 'a: b', '%', '\t.'])
    for (const [description, instructions] of [
      [value, 'x'],
      ['x', `#${value}`],
    ] as const) {
      const text = rewriteSkillText('', { name: 'a', displayName: value, description, instructions })
      const kept = { displayName: value.trim() === '' ? '' : value, description: description.trim() === '' ? '' : description }
      expect(parseSkillText(text), JSON.stringify(value)).toEqual({ name: 'a', ...kept, instructions })
    }
})
