/** What the bundle counts on in the sources. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { SCHEMAS_IMPORT, sourceFiles } from './bundle.mjs'

const IMPORT = /^(?:import|export) .*from 'zod'$/gm

test('all sources import the library of the schemas in the one way that lets the bundle leave out what nobody uses', () => {
  const lines = sourceFiles(join(import.meta.dirname, '..', 'packages')).flatMap((path) => readFileSync(path, 'utf8').match(IMPORT) ?? [])
  expect(new Set(lines.filter((line) => !line.startsWith('import type ')))).toEqual(new Set([SCHEMAS_IMPORT]))
})
