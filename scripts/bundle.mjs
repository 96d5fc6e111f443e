/**
 * Bundles the command and the server into `packages/cli/dist/`, which is what `npm run up` runs.
 *
 * Node can run the TypeScript sources as they are, and tests do; but its type stripper alone costs a server 40 MB that it
 * never gives back. Why: docs/adr/0001-runtime.md
 */
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { step } from './set-up/say.mjs'
import { hashFiles } from './set-up/stamp.mjs'

const KEPT = 3
/** Some dependencies are CommonJS and ask for built-in modules with `require`. */
const BANNER = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"

/** Schemas bring their messages in fifty languages along; ours are written in one. */
const ONE_LANGUAGE = {
  name: 'one-language',
  /** @param {import('esbuild').PluginBuild} bundler */
  setup(bundler) {
    const filter = /^\.\.\/locales\/index\.js$/
    bundler.onResolve({ filter }, ({ importer }) => (importer.includes('/zod/') ? { path: 'locales', namespace: 'one-language' } : null))
    bundler.onLoad({ filter: /.*/, namespace: 'one-language' }, () => ({ contents: 'export {}' }))
  },
}

/** How every source of ours imports the schemas' library. */
export const SCHEMAS_IMPORT = "import { z } from 'zod'"

/** One object with the whole library in it cannot be left out in part; a namespace can, and costs an idle server 2 MB less. */
const USED_SCHEMAS = {
  name: 'used-schemas',
  /** @param {import('esbuild').PluginBuild} bundler */
  setup(bundler) {
    bundler.onLoad({ filter: /[\\/]packages[\\/][^\\/]+[\\/]src[\\/].*\.ts$/ }, ({ path }) => {
      const source = readFileSync(path, 'utf8')
      return source.includes(SCHEMAS_IMPORT) ? { contents: source.replace(SCHEMAS_IMPORT, "import * as z from 'zod'"), loader: 'ts' } : null
    })
  },
}

/**
 * @param {string} root the repository
 * @returns {Promise<string>} the program to run, relative to the repository
 */
export async function bundle(root) {
  const sources = sourceFiles(join(root, 'packages')).toSorted()
  const hash = hashFiles([...sources, join(root, 'package-lock.json'), import.meta.filename], [])
  const dist = join('packages', 'cli', 'dist')
  // Named by content: a server that still runs from an older bundle keeps the chunks it loads lazily.
  const name = hash.slice(0, 16)
  if (!existsSync(join(root, dist, name))) {
    await step('Bundling the server', () => build(root, join(root, dist, name)))
    dropOldest(join(root, dist))
  }
  return join(dist, name, 'main.mjs')
}

/**
 * @param {string} root
 * @param {string} output
 */
async function build(root, output) {
  const { build: runEsbuild } = await import('esbuild')
  const temporary = `${output}.${process.pid}`
  await runEsbuild({
    entryPoints: [join(root, 'packages', 'cli', 'src', 'main.ts')],
    outdir: temporary,
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    // The engine keeps the text of what it runs: a third of it is white space and long ways to say the same.
    minifyWhitespace: true,
    minifySyntax: true,
    outExtension: { '.js': '.mjs' },
    banner: { js: BANNER },
    logLevel: 'warning',
    plugins: [ONE_LANGUAGE, USED_SCHEMAS],
  })
  // Whoever was quicker built the same, and somebody may already run it.
  if (existsSync(output)) rmSync(temporary, { recursive: true })
  else renameSync(temporary, output)
}

/** @param {string} dist */
function dropOldest(dist) {
  const byAge = readdirSync(dist)
    .map((name) => ({ path: join(dist, name), madeMs: statSync(join(dist, name)).mtimeMs }))
    .toSorted((a, b) => b.madeMs - a.madeMs)
  for (const { path } of byAge.slice(KEPT)) rmSync(path, { recursive: true, force: true })
}

/**
 * @param {string} directory
 * @returns {string[]}
 */
export function sourceFiles(directory) {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) return entry.name === 'dist' || entry.name === 'node_modules' ? [] : sourceFiles(path)
    return /\.(ts|json)$/.test(entry.name) && !entry.name.endsWith('.test.ts') ? [path] : []
  })
}
