/** Every example of the README is a program that runs, prints what the README says, and fits the published types. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildPackage } from './contract/built-package.ts'
import type { BuiltPackage } from './contract/built-package.ts'
import { runProgram } from './contract/run-program.ts'
import { isSkipped, startServerForTests, why } from './contract/running-server.ts'
import type { ServerForTests } from './contract/running-server.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')

interface Example {
  readonly name: string
  readonly code: string
  readonly output: string
}

function examplesOf(page: string): readonly Example[] {
  const blocks = page.matchAll(/```ts\n(?<code>[^]*?)```\n\n```text\n(?<output>[^]*?)```/g)
  return [...blocks].map(({ groups, index }, number) => {
    const heading = [...page.slice(0, index).matchAll(/^#+ (.*)$/gm)].at(-1)?.[1] ?? ''
    return { name: `${number + 1} ${heading}`, code: groups?.['code'] ?? '', output: groups?.['output'] ?? '' }
  })
}

const PAGE = readFileSync(join(import.meta.dirname, '..', 'README.md'), 'utf8')
const examples = examplesOf(PAGE)

describe.skipIf(isSkipped)(`the README${why}`, () => {
  let running: ServerForTests
  let built: BuiltPackage
  beforeAll(async () => {
    built = await buildPackage()
    running = await startServerForTests()
    mkdirSync(join(built.directory, 'examples'))
    for (const [index, { code }] of examples.entries()) writeFileSync(join(built.directory, 'examples', `${index}.ts`), code)
  })
  afterAll(async () => {
    await running.close()
    built.remove()
  })

  test('says of every example what it prints', () => {
    expect(examples).toHaveLength(PAGE.match(/^```ts$/gm)?.length ?? 0)
  })

  test.each(examples.map((example, index) => ({ ...example, index })))('example $name', async ({ index, output }) => {
    const env = { HOLDFAST_URL: running.server.url, HOLDFAST_API_KEY: running.apiKey }
    const end = await runProgram(process.execPath, [`examples/${index}.ts`], built.directory, env)
    expect(end).toMatchObject({ exitCode: 0, stderr: '' })
    expect(end.stdout).toBe(output)
  })

  test('the examples fit the declarations, and those stand alone', async () => {
    const compilerOptions = {
      ...{ strict: true, exactOptionalPropertyTypes: true, noEmit: true, skipLibCheck: false, module: 'nodenext', target: 'esnext' },
      ...{ types: ['node'], typeRoots: [join(ROOT, 'node_modules', '@types')] },
    }
    writeFileSync(join(built.directory, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['examples'] }))
    expect(await runProgram(join(ROOT, 'node_modules', '.bin', 'tsc'), ['-p', '.'], built.directory)).toMatchObject({
      stdout: '',
      exitCode: 0,
    })
    const declarations = readFileSync(join(built.packageDirectory, 'index.d.ts'), 'utf8')
    expect(declarations.match(/^.*\b(?:import|require)\b.*$/gm)).toBeNull()
    // In a browser's types, without those of Node.
    const forBrowsers = { ...compilerOptions, types: [], lib: ['esnext', 'dom', 'dom.iterable', 'dom.asynciterable'] }
    writeFileSync(
      join(built.directory, 'page.ts'),
      "import { Holdfast } from '@holdfast/sdk'\nexport const url: string = new Holdfast().url\n",
    )
    writeFileSync(join(built.directory, 'tsconfig.json'), JSON.stringify({ compilerOptions: forBrowsers, files: ['page.ts'] }))
    expect(await runProgram(join(ROOT, 'node_modules', '.bin', 'tsc'), ['-p', '.'], built.directory)).toMatchObject({
      stdout: '',
      exitCode: 0,
    })
  })
})
