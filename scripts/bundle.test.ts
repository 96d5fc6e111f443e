/** What the bundle counts on in the sources. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { SCHEMAS_IMPORT, sourceFiles } from './bundle.mjs'

const IMPORT = /^(?:import|export) .*from 'zod'$/gm
/** Loaded only by the commands that are a server, or make a sandbox themselves. */
const SERVER_COMMANDS = /\/(?:serving|sandbox-run)\//

test('all sources import the library of the schemas in the one way that lets the bundle leave out what nobody uses', () => {
  const lines = sourceFiles(join(import.meta.dirname, '..', 'packages')).flatMap((path) => readFileSync(path, 'utf8').match(IMPORT) ?? [])
  expect(new Set(lines.filter((line) => !line.startsWith('import type ')))).toEqual(new Set([SCHEMAS_IMPORT]))
})

test('a client command loads neither the schemas nor the server: reading them is most of what a short command would do', () => {
  const values = /^import (?!type ).*from '(?:zod|@holdfast\/protocol|@holdfast\/server)'$/gm
  const sources = sourceFiles(join(import.meta.dirname, '..', 'packages', 'cli')).filter((path) => !SERVER_COMMANDS.test(path))
  expect(sources.flatMap((path) => (readFileSync(path, 'utf8').match(values) ?? []).map((line) => `${path}: ${line}`))).toEqual([])
})
