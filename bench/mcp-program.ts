/**
 * A stdio MCP server as a project that needs nothing of the machine it runs on: the same bytes run on the host and in every box.
 */
import { copyFileSync, cpSync, mkdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { build } from 'esbuild'
import { published, pythonLibraries } from '../test/interop/published-packages.ts'

/** Of what Node needs, what a slim image does not have. */
const LIBRARIES = /\/lib(?:stdc\+\+|gcc_s)\.so[^/]*$/

/** As `mcpServers` has it. */
export interface McpProgram {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/** Makes the project in a directory that does not exist yet. */
export type MakeMcpProgram = (directory: string) => Promise<McpProgram>

/** From a program of `children/`. */
export function nodeProgram(source: string): MakeMcpProgram {
  return (directory) => makeNodeProgram(directory, source)
}

const PYTHON = '/usr/bin/python3'
const PYTHON_SDK = 'mcp==2.3.0'

/** With the official library of Python; the reason, where that cannot be had. */
export async function pythonProgram(): Promise<{ readonly make: MakeMcpProgram } | { readonly skipReason: string }> {
  const { path, skipReason } = await published(pythonLibraries(PYTHON, PYTHON_SDK))
  if (path === null) return { skipReason }
  return {
    async make(directory) {
      const [program, libraries] = [join(directory, 'server.py'), join(directory, 'lib')]
      cpSync(path, libraries, { recursive: true })
      copyFileSync(join(import.meta.dirname, 'children', 'mcp_echo.py'), program)
      return { command: PYTHON, args: [program], env: { PYTHONPATH: libraries } }
    },
  }
}

async function makeNodeProgram(directory: string, source: string): Promise<McpProgram> {
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
