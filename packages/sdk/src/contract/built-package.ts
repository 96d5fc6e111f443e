/**
 * The package as it is published, in a directory from which programs can import it by its name.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildSdk } from '../../scripts/build.mjs'

export interface BuiltPackage {
  /** Programs in here find `@holdfast/sdk`. */
  readonly directory: string
  /** Of the package itself. */
  readonly packageDirectory: string
  remove(): void
}

export async function buildPackage(): Promise<BuiltPackage> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-built-'))
  const packageDirectory = join(directory, 'node_modules', '@holdfast', 'sdk')
  mkdirSync(packageDirectory, { recursive: true })
  await buildSdk(packageDirectory)
  writeFileSync(join(directory, 'package.json'), JSON.stringify({ type: 'module', dependencies: { '@holdfast/sdk': '*' } }))
  return { directory, packageDirectory, remove: () => rmSync(directory, { recursive: true, force: true }) }
}
