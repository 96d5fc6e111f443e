/**
 * Builds what is published: one ESM file, one file of declarations without imports, and a package that needs nothing else.
 *
 * `node packages/sdk/scripts/build.mjs [directory]`; `packages/sdk/dist` unless given.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { build } from 'esbuild'
import { bundleDeclarations } from './declarations.mjs'

const PACKAGE = join(import.meta.dirname, '..')
const ROOT = join(PACKAGE, '..', '..')

/** @param {string} directory where it is put */
export async function buildSdk(directory) {
  mkdirSync(directory, { recursive: true })
  const { metafile } = await build({
    entryPoints: [join(PACKAGE, 'src', 'index.ts')],
    outfile: join(directory, 'index.js'),
    bundle: true,
    format: 'esm',
    platform: 'neutral',
    target: 'es2022',
    metafile: true,
    logLevel: 'warning',
  })
  const outside = Object.values(metafile.outputs).flatMap(({ imports }) => imports.map(({ path }) => path))
  if (outside.length > 0) throw new Error(`the bundle imports ${outside.join(', ')}`)
  writeFileSync(join(directory, 'index.d.ts'), declarations())
  writeFileSync(join(directory, 'package.json'), `${JSON.stringify(publishedPackage(), null, 2)}\n`)
  writeFileSync(join(directory, 'README.md'), withoutRepositoryLinks(readFileSync(join(PACKAGE, 'README.md'), 'utf8')))
  cpSync(join(ROOT, 'LICENSE'), join(directory, 'LICENSE'))
}

/**
 * A published page has no repository around it.
 *
 * @param {string} page
 */
export function withoutRepositoryLinks(page) {
  return page.replaceAll(/\[([^\]]+)\]\(\.\.\/[^)]+\)/g, '`$1`')
}

function publishedPackage() {
  const { name, version, description, license, type, engines } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8'))
  const exports = { '.': { types: './index.d.ts', default: './index.js' } }
  return { name, version, description, license, type, engines, exports, types: './index.d.ts', sideEffects: false }
}

/** What the compiler writes for every module, as one file. */
function declarations() {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-declarations-'))
  try {
    const output = join(directory, 'output')
    const compilerOptions = {
      ...{ noEmit: false, declaration: true, emitDeclarationOnly: true, allowJs: false, checkJs: false },
      ...{ outDir: output, rootDir: join(ROOT, 'packages'), typeRoots: [join(ROOT, 'node_modules', '@types')] },
    }
    const config = { extends: join(ROOT, 'tsconfig.json'), compilerOptions, include: [], files: [join(PACKAGE, 'src', 'index.ts')] }
    writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify(config))
    const { status, stdout } = spawnSync(join(ROOT, 'node_modules', '.bin', 'tsc'), ['-p', directory], { encoding: 'utf8' })
    if (status !== 0) throw new Error(`the declarations cannot be made:\n${stdout}`)
    return bundleDeclarations(join(output, 'sdk', 'src'), 'index.d.ts')
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

if (import.meta.main) await buildSdk(resolve(process.argv[2] ?? join(PACKAGE, 'dist')))
