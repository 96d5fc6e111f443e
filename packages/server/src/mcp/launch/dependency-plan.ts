/**
 * What has to be installed in the box before an MCP server can start, told from the command and from the project's manifests.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * `npx`, `uvx` and their like fetch what they run by themselves, and are left to it. A program of the project that `npx` runs needs what the
 * project needs.
 */
import { posix } from 'node:path'
import type { McpServerConfig } from '@holdfast/protocol/mcp'
import type { BoxPlaces } from './box-places.ts'
import type { HostLook } from './host-look.ts'
import { NODE_MANIFESTS, PYTHON_MANIFESTS } from './manifests.ts'
import type { Project } from './project-root.ts'
import { venvProgram } from './virtual-environment.ts'

export type Runtime = 'python' | 'node'

export interface DependencyPlan {
  readonly places: BoxPlaces
  /** In this order. */
  readonly runtimes: readonly Runtime[]
  /** Of the box: without, only what lies in the project can be installed. */
  readonly network: 'on' | 'off'
  /** For the installers too: indexes, proxies. */
  readonly env: Readonly<Record<string, string>>
  /** For each step. */
  readonly timeoutMs: number
}

const PYTHON = /^(?:pythonw?[\d.]*|pip[\d.]*|pytest|fastmcp|mcp)$/
const NODE = new Set(['node', 'nodejs', 'npm', 'pnpm', 'yarn', 'tsx', 'ts-node'])
const FETCHES_NODE = new Set(['npx', 'bunx', 'pnpx'])
const FETCHES_ALL = new Set(['uvx', 'uv', 'pipx', 'deno', 'bun', 'docker', 'podman'])

export async function runtimesOf(
  { command }: Pick<McpServerConfig, 'command'>,
  project: Project,
  look: HostLook,
): Promise<readonly Runtime[]> {
  const has = async (names: readonly string[]) =>
    (await Promise.all(names.map((name) => look.kind(posix.join(project.root, name))))).includes('file')
  const wanted = runtimesFor(command, project.isProgramKnown)
  const found = await Promise.all(wanted.map((runtime) => has(runtime === 'python' ? PYTHON_MANIFESTS : NODE_MANIFESTS)))
  return wanted.filter((_, index) => found[index] === true)
}

function runtimesFor(command: string, isProgramKnown: boolean): readonly Runtime[] {
  const name = posix.basename(command)
  if (venvProgram(command) !== null || PYTHON.test(name)) return ['python']
  if (NODE.has(name)) return ['node']
  if (FETCHES_NODE.has(name)) return isProgramKnown ? ['node'] : []
  return FETCHES_ALL.has(name) ? [] : ['python', 'node']
}
