/** The lists of expected failures stay honest: each entry says why. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { EXPECTED_FAILURES } from './conformance-suite.ts'

test.each(readdirSync(EXPECTED_FAILURES))('every entry of %s has its reason', (name) => {
  const lines = readFileSync(join(EXPECTED_FAILURES, name), 'utf8').split('\n')
  const entries = lines.filter((line) => line.trimStart().startsWith('-'))
  expect(entries.length > 0, 'it lists something').toBe(name !== 'nothing.yml')
  expect(entries.filter((line) => !/^ {2}- [a-z0-9:-]+ # \w+/.test(line))).toEqual([])
})
