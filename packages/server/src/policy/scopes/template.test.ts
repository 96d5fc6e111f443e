/** Templates read as Python reads them, and refused where they say more than "put this value here". */
import { array, assert, constantFrom, oneof, property, string } from 'fast-check'
import { expect, test } from 'vitest'
import { isHoldfastError } from '@holdfast/protocol'
import { parseTemplate } from './template.ts'
import type { Template } from './template.ts'

const refusal = (text: string): unknown => {
  try {
    return parseTemplate(text)
  } catch (error) {
    return error
  }
}

test('a template is its literal text and its variables, each variable counted once', () => {
  expect(parseTemplate('app:{user_id}:{task-2}{user_id}')).toEqual({
    text: 'app:{user_id}:{task-2}{user_id}',
    parts: [{ literal: 'app:' }, { variable: 'user_id' }, { literal: ':' }, { variable: 'task-2' }, { variable: 'user_id' }],
    variables: ['user_id', 'task-2'],
  })
})

test('doubled braces are the braces themselves', () => {
  expect(parseTemplate('{{{a}}}x}}{{').parts).toEqual([
    { literal: '{' },
    { variable: 'a' },
    { literal: '}' },
    { literal: 'x' },
    { literal: '}' },
    { literal: '{' },
  ])
})

test.each([
  ['{a', 1, 'is not closed'],
  ['x_{', 3, 'is not closed'],
  ['{{{', 3, 'is not closed'],
  ['{a}_{b{{', 5, 'is not closed'],
  ['a}', 2, 'closes nothing'],
  ['{{a}', 4, 'closes nothing'],
  ['{a}}', 4, 'closes nothing'],
  ['👋{a}}', 5, 'closes nothing'],
  ['x{}', 2, 'no name between the braces'],
  ['{a:>3}', 3, 'formats, conversions, attributes and indexes'],
  ['{a:}', 3, 'formats'],
  ['{a!r}', 3, 'formats'],
  ['{a.b}', 3, 'formats'],
  ['{a[0]}', 3, 'formats'],
  ['{a{b}}', 3, 'inside of braces'],
  ['{a:{b}}', 4, 'inside of braces'],
  ['{0}', 2, 'begin with a letter'],
  ['{ a }', 2, 'a name must be at most 64 letters'],
  ['{__proto__}', 2, 'begin with a letter'],
  [`{${'a'.repeat(65)}}`, 2, 'at most 64 letters'],
])('%j is refused at character %i', (text, position, why) => {
  const error = refusal(text)
  expect(error).toMatchObject({ code: 'invalid_request', details: { scope: text, position } })
  expect(error).toMatchObject({ message: expect.stringContaining(`'${text}' is wrong at character ${position}: `) })
  expect(error).toMatchObject({ message: expect.stringContaining(why) })
})

test.each([
  ['', 'must be one of'],
  ['   ', 'must be one of'],
  ['chta', 'must be one of'],
  ['{a}\n', 'control characters'],
  ['{a}\ud800', 'broken Unicode'],
  [`{a}${'x'.repeat(254)}`, 'at most 256 characters'],
])('%j is no scope at all', (text, why) => {
  expect(refusal(text)).toMatchObject({ code: 'invalid_request', message: expect.stringContaining(why) })
})

test('a refusal does not repeat a text without bound', () => {
  expect((refusal('{'.repeat(100_000)) as Error).message.length).toBeLessThan(400)
})

const anyText = oneof(
  string({ unit: 'binary', maxLength: 300 }),
  array(constantFrom('{', '}', '{{', '}}', '{a}', 'a', '_', ':', '!r', '.', '[0]', ' ', '\0', '\ud800', '你'), { maxLength: 20 }).map(
    (bits) => bits.join(''),
  ),
)

const written = ({ parts }: Template) =>
  parts.map((part) => ('variable' in part ? `{${part.variable}}` : part.literal.replace(/[{}]/g, '$&$&'))).join('')

test('any text is read or refused with invalid_request, and what was read writes the same text again', () => {
  assert(
    property(anyText, (text) => {
      const result = refusal(text)
      const isRefused = isHoldfastError(result, 'invalid_request')
      expect(isRefused ? text : written(result as Template)).toBe(text)
    }),
    { numRuns: 2000 },
  )
})
