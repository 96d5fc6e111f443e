/** The expected output is what the script prints, from any place on. */
import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { expectedBytes, printingScript } from './numbered-lines.ts'

test('what is expected is what the script prints, from any place on', () => {
  const printed = execFileSync('/bin/sh', ['-c', `(${printingScript('fast')}) | head -c 1000`], {
    stdio: ['ignore', 'pipe', 'ignore'],
  }).toString()
  expect(expectedBytes(0, 1000)).toBe(printed)
  for (const from of [1, 8, 9, 10, 500]) expect(expectedBytes(from, 100)).toBe(printed.slice(from, from + 100))
})
