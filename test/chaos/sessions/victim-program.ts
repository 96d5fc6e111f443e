/**
 * The victim as one program: read and started hundreds of times, and the same for a whole run whatever happens to the sources meanwhile.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const SOURCE = fileURLToPath(new URL('victim.ts', import.meta.url))
/** Some dependencies are CommonJS and ask for built-in modules with `require`. */
const BANNER = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"

export interface VictimProgram {
  readonly path: string
  remove(): void
}

export async function buildVictim(): Promise<VictimProgram> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-victim-'))
  await build({
    entryPoints: [SOURCE],
    outdir: directory,
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    outExtension: { '.js': '.mjs' },
    banner: { js: BANNER },
    external: ['pg-native'],
    logLevel: 'error',
  })
  return { path: join(directory, 'victim.mjs'), remove: () => rmSync(directory, { recursive: true, force: true }) }
}
