/** A runtime is judged by what it says when it is to start a container. The runtimes here are scripts. */
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getuid } from 'node:process'
import { expect, test } from 'vitest'
import { runtimeProblem } from './runtime-trial.ts'

async function judged(script: string): Promise<string | null> {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-runtime-'))
  await mkdir(join(directory, 'bin'))
  const path = join(directory, 'bin', 'crun')
  await writeFile(path, `#!/bin/sh\n${script}\n`)
  await chmod(path, 0o755)
  const problem = await runtimeProblem(path)
  await rm(directory, { recursive: true })
  return problem
}

test.skipIf(getuid?.() !== 0)('a runtime that only misses the program works', async () => {
  expect(await judged('echo "executable file /holdfast-trial not found" >&2; exit 1')).toBeNull()
})

test.skipIf(getuid?.() !== 0)('a runtime that fails before has a problem, in its own words', async () => {
  expect(await judged('echo "cgroups in hybrid mode not supported" >&2; exit 1')).toBe('cgroups in hybrid mode not supported')
})

test('a runtime that is not known is not tried', async () => {
  expect(await runtimeProblem('/nowhere/kata')).toBeNull()
})
