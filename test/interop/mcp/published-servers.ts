/**
 * MCP servers as their makers publish them, laid out on a host as people lay them out.
 *
 * Those of Node come as an installed tree with a Node beside it, because not every image has one. Those of Python are projects with the
 * files of what they need, so that the box installs them by itself and asks no registry.
 */
import { chmodSync, cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { McpServerConfigInput } from '@holdfast/protocol/mcp'
import { npmTree, wheels } from '../published-packages.ts'
import type { PublishedSet } from '../published-packages.ts'

const FILESYSTEM = '@modelcontextprotocol/server-filesystem'
const EVERYTHING = '@modelcontextprotocol/server-everything'

export const NODE_SERVERS: PublishedSet = npmTree(`${FILESYSTEM}@2026.8.31`, `${EVERYTHING}@2026.8.31`)
/** It is of the time before the second generation of the library, and does not say so. */
const SQLITE = ['mcp-server-sqlite==2025.4.25', 'mcp==1.30.0']
const TIME = ['mcp-server-time==2026.10.19']
export const SQLITE_WHEELS: PublishedSet = wheels(SQLITE)
export const TIME_WHEELS: PublishedSet = wheels(TIME)

/** Where a conversation sees the tree of the Node servers. */
export const TREE_IN_BOX = '/opt/mcp-servers'

export interface ServerFiles {
  readonly nodeServers: string
  readonly sqliteWheels: string
  readonly timeWheels: string
}

export interface LaidOut {
  /** To be mounted at `TREE_IN_BOX`. */
  readonly tree: string
  readonly servers: Readonly<Record<string, McpServerConfigInput>>
}

/** `root`: an empty directory, below an allowed root for mounts. */
export function layOut(root: string, files: ServerFiles): LaidOut {
  const tree = join(root, 'tree')
  cpSync(join(files.nodeServers, 'node_modules'), join(tree, 'node_modules'), { recursive: true })
  mkdirSync(join(tree, 'bin'))
  cpSync(process.execPath, join(tree, 'bin', 'node'))
  // What is mounted to be written must be the sandbox user's to write.
  chmodSync(tree, 0o777)
  const programIn = (place: string, name: string) => join(place, 'node_modules', name, 'dist', 'index.js')
  return {
    tree,
    servers: {
      filesystem: { command: `${TREE_IN_BOX}/bin/node`, args: [programIn(TREE_IN_BOX, FILESYSTEM), '/workspace'] },
      everything: {
        command: `${TREE_IN_BOX}/bin/node`,
        args: [programIn(TREE_IN_BOX, EVERYTHING)],
        env: { GREETING: 'from the configuration' },
      },
      /** The same, mounted by its own wish into a box of its own. */
      mounted: {
        command: join(tree, 'bin', 'node'),
        args: [programIn(tree, EVERYTHING)],
        scope: 'tenant',
        box: { network: 'off', host_path_mode: 'rw' },
      },
      sqlite: sqliteProject(join(root, 'notes'), files.sqliteWheels),
      time: timeProject(join(root, 'clock'), files.timeWheels),
    },
  }
}

/** As one writes it for a desktop client: a program of the virtual environment that lies in the project. */
function sqliteProject(project: string, wheelhouse: string): McpServerConfigInput {
  cpSync(wheelhouse, join(project, 'wheels'), { recursive: true })
  writeFileSync(join(project, 'requirements.txt'), `--find-links ./wheels\n${SQLITE.join('\n')}\n`)
  const programs = join(project, '.venv', 'bin')
  mkdirSync(programs, { recursive: true })
  symlinkSync('/nowhere/python3', join(programs, 'python3'))
  return { command: join(programs, 'mcp-server-sqlite'), args: ['--db-path', '/workspace/notes.db'] }
}

/** A project that only lists what it depends on, for all of the tenant: in a box of its own. */
function timeProject(project: string, wheelhouse: string): McpServerConfigInput {
  const place = join(project, 'wheels')
  cpSync(wheelhouse, place, { recursive: true })
  writeFileSync(join(project, 'pyproject.toml'), `[project]\nname = "clock"\nversion = "1"\ndependencies = ${JSON.stringify(TIME)}\n`)
  return {
    command: 'python3',
    args: ['-m', 'mcp_server_time', '--local-timezone', 'Europe/Berlin'],
    cwd: project,
    scope: 'tenant',
    box: { network: 'off', env: { PIP_FIND_LINKS: place } },
  }
}
