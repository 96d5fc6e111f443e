/** Files of MCP servers as other programs write them: with comments, and commas behind the last one. */
import { expect, test } from 'vitest'
import { readJson, withoutComments } from './servers-file.ts'

test.each([
  ['{"a": 1}', { a: 1 }],
  ['{ // one\n "a": 1, /* two\n three */ "b": [1, 2,], }', { a: 1, b: [1, 2] }],
  [String.raw`{"a": "http://x // y", "b": "/* \" */", "c": ",}"}`, { a: 'http://x // y', b: '/* " */', c: ',}' }],
])('%s', (text, value) => {
  expect(JSON.parse(withoutComments(text))).toEqual(value)
})

test('what cannot be read is told by its place, and never repeated', async () => {
  await expect(readJson('{\n  "token": "hunter2",\n}')).rejects.toMatchObject({
    code: 'invalid_request',
    message: 'the arguments: must be a JSON object, and is not valid JSON (line 3, column 1)',
  })
  await expect(readJson('[1]')).rejects.toMatchObject({ message: 'the arguments: must be a JSON object' })
})

test('comments take nobody from their lines', () => {
  expect(withoutComments('{ // one\n/* two\n */ "a": 1,\n}').split('\n')).toHaveLength(4)
})
