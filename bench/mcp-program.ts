/**
 * A stdio MCP server as a project that needs nothing of the machine it runs on: the same bytes run on the host and in every box.
 */
import { copyFileSync, mkdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { build } from 'esbuild'

/** Of what Node needs, what a slim image does not have. */
const LIBRARIES = /\/lib(?:stdc\+\+|gcc_s)\.so[^/]*$/

/** As `mcpServers` has it. */
export interface McpProgram {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/** From a program of `children/`; the project is made in `directory`. */
export async function makeMcpProgram(directory: string, source: string): Promise<McpProgram> {
  const program = join(directory, 'server.mjs')
  const node = join(directory, 'node')
  const libraries = join(directory, 'lib')
  mkdirSync(libraries, { recursive: true })
  await build({
    entryPoints: [join(import.meta.dirname, 'children', source)],
    ...{ outfile: program, bundle: true, platform: 'node', format: 'esm', target: 'node24', logLevel: 'warning' },
  })
  copyFileSync(process.execPath, node)
  for (const path of loadedLibraries()) copyFileSync(path, join(libraries, basename(path)))
  return { command: node, args: [program], env: { LD_LIBRARY_PATH: libraries } }
}

function loadedLibraries(): readonly string[] {
  const { sharedObjects }: { readonly sharedObjects: readonly string[] } = JSON.parse(JSON.stringify(process.report.getReport()))
  return sharedObjects.filter((path) => LIBRARIES.test(path))
}
