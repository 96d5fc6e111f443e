/** The published package does the same under every runtime that is there. */
import { accessSync, constants, copyFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildPackage } from './contract/built-package.ts'
import type { BuiltPackage } from './contract/built-package.ts'
import { runProgram } from './contract/run-program.ts'
import { isSkipped, startServerForTests, why } from './contract/running-server.ts'
import type { ServerForTests } from './contract/running-server.ts'

const RUNTIMES = [
  { name: 'Node', program: process.execPath, flags: [] },
  {
    name: 'Deno',
    program: onPath('deno'),
    flags: ['run', '--allow-net', '--allow-env=HOLDFAST_URL,HOLDFAST_API_KEY', '--node-modules-dir=manual'],
  },
  { name: 'Bun', program: onPath('bun'), flags: ['run'] },
]

const EXPECTED = `plain 3
"é1\\né2\\né3\\n" true
3000000 true
600000
create
execution.ended
true
enough
true
4 true
`

function onPath(name: string): string | null {
  const candidates = (process.env['PATH'] ?? '').split(delimiter).map((directory) => join(directory, name))
  return candidates.find(isProgram) ?? null
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

describe.skipIf(isSkipped)(`the published package${why}`, () => {
  let running: ServerForTests
  let built: BuiltPackage
  beforeAll(async () => {
    built = await buildPackage()
    running = await startServerForTests()
    copyFileSync(join(import.meta.dirname, 'contract', 'smoke.mjs'), join(built.directory, 'smoke.mjs'))
  })
  afterAll(async () => {
    await running.close()
    built.remove()
  })

  for (const { name, program, flags } of RUNTIMES) {
    test.skipIf(program === null)(`works under ${name}${program === null ? ' (skipped: it is not on the PATH)' : ''}`, async () => {
      const env = { HOLDFAST_URL: running.server.url, HOLDFAST_API_KEY: running.apiKey }
      const end = await runProgram(program ?? '', [...flags, 'smoke.mjs'], built.directory, env)
      expect(end).toEqual({ stdout: EXPECTED, stderr: '', exitCode: 0 })
    })
  }
})
