/** Every example of the README is a program that runs and prints what the README says. */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isSkipped, startBoxServer, TOKEN, why } from './contract/holdfast-server.ts'
import type { BoxServerForTests } from './contract/holdfast-server.ts'

const PACKAGE = join(import.meta.dirname, '..')
const ROOT = join(PACKAGE, '..', '..')
const HOLDFAST = join(PACKAGE, '..', 'cli', 'bin', 'holdfast.mjs')
const PAGE = readFileSync(join(PACKAGE, 'README.md'), 'utf8')
const TIMEOUT_MS = 60_000

const examples = [...PAGE.matchAll(/```ts\n(?<code>[^]*?)```\n\n```text\n(?<output>[^]*?)```/g)].map(({ groups, index }, number) => {
  const heading = [...PAGE.slice(0, index).matchAll(/^#+ (.*)$/gm)].at(-1)?.[1] ?? ''
  return { number, heading, code: groups?.['code'] ?? '', output: groups?.['output'] ?? '' }
})

describe.skipIf(isSkipped)(`the README${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-box-readme-'))
  let server: BoxServerForTests
  beforeAll(async () => {
    server = await startBoxServer()
    for (const part of ['node_modules/@holdfast', 'bin']) mkdirSync(join(directory, part), { recursive: true })
    symlinkSync(PACKAGE, join(directory, 'node_modules/@holdfast/box-client'))
    symlinkSync(HOLDFAST, join(directory, 'bin', 'holdfast'))
    for (const { number, code } of examples) writeFileSync(join(directory, `${number}.mts`), code)
  })
  const run = (program: string, args: readonly string[]) => {
    const path = [join(directory, 'bin'), process.env['PATH']].join(delimiter)
    const env = { ...server.env, PATH: path, NO_COLOR: '1', BOX_ENDPOINT: server.url, BOX_TOKEN: TOKEN }
    const { promise, resolve } = Promise.withResolvers<{ readonly isWell: boolean; readonly stdout: string; readonly stderr: string }>()
    execFile(program, args, { cwd: directory, env, timeout: TIMEOUT_MS }, (error, stdout, stderr) =>
      resolve({ isWell: error === null, stdout, stderr }),
    )
    return promise
  }
  afterAll(async () => {
    await server.close()
    rmSync(directory, { recursive: true })
  })

  test('says of every example what it prints', () => {
    expect(examples).toHaveLength(PAGE.match(/^```ts$/gm)?.length ?? 0)
    expect(examples.length).toBeGreaterThan(0)
  })

  test('the examples fit the types', async () => {
    const compilerOptions = {
      ...{ strict: true, exactOptionalPropertyTypes: true, noEmit: true, skipLibCheck: true, module: 'nodenext', target: 'esnext' },
      ...{ allowImportingTsExtensions: true, types: ['node'], typeRoots: [join(ROOT, 'node_modules', '@types')] },
    }
    writeFileSync(
      join(directory, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, files: examples.map(({ number }) => `${number}.mts`) }),
    )
    expect(await run(join(ROOT, 'node_modules', '.bin', 'tsc'), ['-p', '.'])).toEqual({ isWell: true, stdout: '', stderr: '' })
  })

  test.each(examples)('example $number $heading', async ({ number, output }) => {
    expect(await run(process.execPath, [`${number}.mts`])).toMatchObject({ isWell: true, stdout: output })
  })
})
