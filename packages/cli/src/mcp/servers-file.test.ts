/** Files of MCP servers as other programs write them: with comments, and commas behind the last one. */
import { expect, test } from 'vitest'
import { withoutComments } from './servers-file.ts'

test.each([
  ['{"a": 1}', { a: 1 }],
  ['{ // one\n "a": 1, /* two\n three */ "b": [1, 2,], }', { a: 1, b: [1, 2] }],
  [String.raw`{"a": "http://x // y", "b": "/* \" */", "c": ",}"}`, { a: 'http://x // y', b: '/* " */', c: ',}' }],
])('%s', (text, value) => {
  expect(JSON.parse(withoutComments(text))).toEqual(value)
})
