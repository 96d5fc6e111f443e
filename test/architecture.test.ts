/**
 * The rules of the tree that a machine can check: data flows one way, and a reader can predict the next file.
 */
import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { describe, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '..')
const SERVER = 'packages/server/src'
/** Arrows only point right. */
const STAGES = ['ingress', 'mcp', 'tools', 'access', 'policy', 'sessions', 'sandboxes', 'guest']
/** The composition root and the process: they know everybody, so nobody may know them. */
const ROOT_MODULES = [`${SERVER}/app.ts`, `${SERVER}/main.ts`]
const READERS_OF_THE_ENVIRONMENT = [`${SERVER}/config.ts`, 'packages/cli/src/config.ts']
const NAMES_THAT_SAY_NOTHING = /^(utils?|types|helpers?|common|misc)$/
const OPENING_COMMENT = /^(#!.*\n)?\/\*\*\s+\S/

interface Module {
  /** Relative to the repository. */
  readonly path: string
  readonly text: string
  /** What it imports by a relative path, relative to the repository. */
  readonly imports: readonly string[]
}

const modules = globSync(['packages/*/src/**/*.{ts,tsx}', 'test/**/*.ts', 'bench/**/*.ts', 'scripts/**/*.mjs', '*.ts'], { cwd: ROOT })
  .toSorted()
  .map(readModule)
const inPackages = modules.filter(({ path }) => path.startsWith('packages/'))
const product = inPackages.filter(({ path }) => !path.endsWith('.test.ts') && !path.includes('/contract/'))

function readModule(path: string): Module {
  const text = readFileSync(join(ROOT, path), 'utf8')
  const specifiers = [...text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*['"](\.[^'"]+)['"]/g)].map((match) => match[1] ?? '')
  const imports = specifiers.map((specifier) => relative(ROOT, join(ROOT, dirname(path), specifier)))
  return { path, text, imports }
}

/** The import arrows that break a rule, as `from → to`. */
function arrows(from: readonly Module[], isWrong: (module: Module, imported: string) => boolean): readonly string[] {
  return from.flatMap((module) =>
    module.imports.filter((imported) => isWrong(module, imported)).map((imported) => `${module.path} → ${imported}`),
  )
}

/** -1 outside of the flow. */
function stageOf(path: string): number {
  return STAGES.indexOf(relative(SERVER, path).split('/')[0] ?? '')
}

function packageOf(path: string): string {
  return path.split('/').slice(0, 2).join('/')
}

describe('the architecture', () => {
  test('every module opens by saying what it is for', () => {
    expect(modules.filter(({ text }) => !OPENING_COMMENT.test(text)).map(({ path }) => path)).toEqual([])
  })

  test('no stage of the server imports from an earlier one', () => {
    const backwards = arrows(inPackages, (module, imported) => stageOf(imported) >= 0 && stageOf(imported) < stageOf(module.path))
    expect(backwards).toEqual([])
  })

  test('nobody imports the composition root but the process itself', () => {
    const toRoot = arrows(product, (module, imported) => ROOT_MODULES.includes(imported) && dirname(module.path) !== SERVER)
    expect(toRoot).toEqual([])
  })

  test('packages meet only in their names, never by a relative path', () => {
    const across = arrows(
      inPackages,
      (module, imported) => imported.startsWith('packages/') && packageOf(imported) !== packageOf(module.path),
    )
    expect(across).toEqual([])
  })

  test('the product imports nothing from test, bench or scripts', () => {
    const outwards = arrows(product, (_module, imported) => !imported.startsWith('packages/'))
    expect(outwards).toEqual([])
  })

  test('only the configuration reads the environment', () => {
    const readers = product.filter(({ text }) => /\bprocess\.env\b/.test(text)).map(({ path }) => path)
    expect(readers.filter((path) => !READERS_OF_THE_ENVIRONMENT.includes(path))).toEqual([])
  })

  test('no file or folder has a name that says nothing', () => {
    const parts = modules.flatMap(({ path }) => path.split('/').map((part) => ({ path, name: basename(part).replace(/\..*$/, '') })))
    expect(parts.filter(({ name }) => NAMES_THAT_SAY_NOTHING.test(name)).map(({ path }) => path)).toEqual([])
  })
})
