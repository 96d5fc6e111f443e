/**
 * Where on the host the project of an MCP server lies: as its configuration says, or as its command line shows.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * It is what the paths of the command line have in common. A program in a directory of it (`dist/index.js`, `src/server.py`) belongs to the
 * project whose manifest lies above. A home, a directory of the system or the whole host is never one: that is refused, not guessed.
 */
import { posix } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import type { McpServerConfig } from '@holdfast/protocol/mcp'
import type { HostKind, HostLook } from './host-look.ts'
import { commonParent, isWithin, namedPaths, tidy, whyNoProject } from './host-paths.ts'
import type { NamedPath } from './host-paths.ts'
import { MANIFESTS } from './manifests.ts'
import { VENV_NAMES, venvProgram } from './virtual-environment.ts'

/** A manifest that is further above is another project's. */
const MAXIMUM_CLIMB = 3

export interface Project {
  /** As the configuration writes it, in which links may be. */
  readonly root: string
  /** Virtual environments of the host that are in it or on the command line. */
  readonly venvs: readonly string[]
  /** One of its files is on the command line. */
  readonly isProgramKnown: boolean
}

/** What the command line names, as far as the host has it. */
interface Place extends NamedPath {
  readonly kind: HostKind
  readonly directory: string
}

export interface FoundProject {
  readonly project: Project | null
  /** What is left as it is, and why. */
  readonly notes: readonly string[]
}

/** Throws `mount_refused` for a `host_path` that may not be shown, and `invalid_request` where no project can be told. */
export async function findProject(config: McpServerConfig, look: HostLook, workspace: string): Promise<FoundProject> {
  const { host_path: hostPath, host_path_mode: mode } = config.box
  const named = namedPaths(config, workspace)
  if (mode === 'none') return { project: null, notes: named.map(({ path }) => leftAlone(path, 'host_path_mode is "none"')) }
  const venvs = await venvsOf(named, look)
  const others = named.filter(({ path }) => venvProgram(path) === null)
  const places = (await Promise.all(others.map((each) => placeOf(each, look)))).filter((place) => place !== null)
  const root = hostPath === null ? await inferredRoot(places, venvs, look) : await givenRoot(hostPath, look)
  if (root === null) return { project: null, notes: named.map(({ path }) => leftAlone(path, NOT_SHOWN)) }
  const inside = await Promise.all(
    VENV_NAMES.map(async (name) => ((await look.kind(`${root}/${name}`)) === 'directory' ? [`${root}/${name}`] : [])),
  )
  const isHandled = (path: string) => isWithin(path, root) || venvs.some((venv) => isWithin(path, venv))
  return {
    project: {
      root,
      venvs: [...new Set([...inside.flat(), ...venvs])],
      isProgramKnown: places.some(({ kind, path }) => kind === 'file' && isWithin(path, root)),
    },
    notes: named.filter(({ path }) => !isHandled(path)).map(({ path }) => leftAlone(path, `it is not in the project ${root}`)),
  }
}

const NOT_SHOWN = 'it is not on the host, or not below an allowed root for mounts'

function leftAlone(path: string, why: string): string {
  return `'${path}' is taken as a path of the box: ${why}`
}

async function placeOf(named: NamedPath, look: HostLook): Promise<Place | null> {
  const kind = await look.kind(named.path)
  return kind === null ? null : { ...named, kind, directory: kind === 'directory' ? named.path : posix.dirname(named.path) }
}

async function venvsOf(named: readonly NamedPath[], look: HostLook): Promise<readonly string[]> {
  const venvs = new Set(named.flatMap(({ path }) => venvProgram(path)?.venv ?? []))
  const found = await Promise.all([...venvs].map(async (venv) => ((await look.kind(venv)) === 'directory' ? [venv] : [])))
  return found.flat()
}

async function givenRoot(hostPath: string, look: HostLook): Promise<string> {
  const root = tidy(hostPath)
  await look.settle(root)
  if ((await look.kind(root)) === 'directory') return root
  throw new HoldfastError('mount_refused', `box.host_path: '${root}' is not a directory`, { field: 'box.host_path', path: root })
}

async function inferredRoot(places: readonly Place[], venvs: readonly string[], look: HostLook): Promise<string | null> {
  for (const { field, path, directory } of places) {
    const why = whyNoProject(directory)
    if (why !== null) throw noProject(field, `'${path}' lies in no project: ${directory} is ${why}`)
  }
  // An environment may lie in a home that holds many projects; then it says nothing of this one.
  const homes = venvs.map((venv) => posix.dirname(venv)).filter((home) => whyNoProject(home) === null)
  const directories = [...places.map(({ directory }) => directory), ...homes]
  if (directories.length === 0) return null
  const common = commonParent(directories)
  if (whyNoProject(common) !== null) {
    const paths = [...places.map(({ path }) => path), ...homes].map((path) => `'${path}'`).join(', ')
    throw noProject(places[0]?.field ?? 'command', `${paths} have no project in common`)
  }
  return places.some(({ kind }) => kind === 'file') ? nearestProject(common, look) : common
}

async function nearestProject(directory: string, look: HostLook): Promise<string> {
  let [above, climbed] = [directory, 0]
  while (climbed <= MAXIMUM_CLIMB && whyNoProject(above) === null) {
    const kinds = await Promise.all(MANIFESTS.map((name) => look.kind(posix.join(above, name))))
    if (kinds.includes('file')) return above
    ;[above, climbed] = [posix.dirname(above), climbed + 1]
  }
  return directory
}

function noProject(field: string, why: string): HoldfastError {
  return new HoldfastError('invalid_request', `${field}: ${why}; name the directory of the project with box.host_path`, { field })
}
