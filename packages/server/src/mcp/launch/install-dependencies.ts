/**
 * What an MCP server depends on, installed in its box: once, and again when its manifests or the box's runtime change.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * Each step is an ordinary command of the session: bounded in time, on record, ended with its caller. The note of what was installed is
 * written last. One server's dependencies are installed by one caller at a time.
 */
import { createHash } from 'node:crypto'
import { posix } from 'node:path'
import type { CommandEnd } from '../../sessions/executions/executions.ts'
import type { Running } from '../../sessions/running.ts'
import type { FileTarget, SessionFiles } from '../../sessions/session-files.ts'
import { digestOf, readNote, writeNote } from './box-notes.ts'
import type { DependencyPlan } from './dependency-plan.ts'
import { runStep } from './install-step.ts'
import { NODE_RECIPE } from './node-recipe.ts'
import type { OnProgress } from './progress.ts'
import { PYTHON_RECIPE } from './python-recipe.ts'
import type { Recipe, RecipeStep } from './recipe.ts'
import type { LaunchTarget } from './stage-project.ts'

export interface InstallNeeds {
  readonly commands: Pick<Running, 'run'>
  readonly files: Pick<SessionFiles, 'read' | 'write' | 'makeDirectory'>
}

export interface Installed {
  /** `false`: all of it was there. */
  readonly isInstalled: boolean
}

const RECIPES = { python: PYTHON_RECIPE, node: NODE_RECIPE } as const
/** Other steps than before mean another installation. */
const RECIPE_VERSION = 1
const MAXIMUM_MANIFEST_BYTES = 16 * 1024 * 1024
const MAXIMUM_READ_BYTES = 256 * 1024
const PROBE_MS = 30_000

/** Throws `dependencies_failed` with what the installer said at its end. */
export async function installDependencies(
  needs: InstallNeeds,
  target: LaunchTarget,
  plan: DependencyPlan,
  onProgress: OnProgress,
  signal: AbortSignal,
): Promise<Installed> {
  let isInstalled = false
  for (const runtime of plan.runtimes) {
    const isNew = await follow(RECIPES[runtime], needs, { ...target, signal }, plan, onProgress)
    isInstalled ||= isNew
  }
  return { isInstalled }
}

/** Whether there was anything to do. */
async function follow(recipe: Recipe, needs: InstallNeeds, at: FileTarget, plan: DependencyPlan, onProgress: OnProgress): Promise<boolean> {
  const { files } = needs
  const { places } = plan
  const note = recipe.note(places)
  const found = await manifestsIn(files, at, places.project, recipe)
  const wanted = digest([
    ...[RECIPE_VERSION, await probed(recipe, needs, at, plan), found.map(({ name, sha256 }) => [name, sha256])],
    found.some(({ isLocal }) => isLocal) ? await readNote(files, at, places.projectNote) : null,
  ])
  if ((await readNote(files, at, note)) === wanted) return false
  await files.makeDirectory(at, places.tmp, { parents: true })
  const steps = recipe.steps(plan, new Set(found.map(({ name }) => name)))
  for (const [index, step] of steps.entries()) {
    const place = `installing dependencies (${recipe.title}, ${index + 1} of ${steps.length})`
    onProgress(`${place}: ${step.what}`)
    const env = { ...recipe.environment(plan), ...plan.env }
    const whole = { ...step, cwd: places.project, env, timeoutMs: plan.timeoutMs, hint: (end: CommandEnd) => hintFor(end, step, plan) }
    await runStep(needs.commands, at, whole, (line) => onProgress(`${place}: ${line}`))
  }
  await writeNote(files, at, note, wanted)
  onProgress(`installed dependencies (${recipe.title})`)
  return true
}

interface Manifest {
  readonly name: string
  readonly sha256: string
  /** Names something of the project itself. */
  readonly isLocal: boolean
}

async function manifestsIn(files: InstallNeeds['files'], at: FileTarget, project: string, recipe: Recipe): Promise<readonly Manifest[]> {
  const found: Manifest[] = []
  for (const name of recipe.manifests) {
    const path = posix.join(project, name)
    const sha256 = await digestOf(files, at, path, MAXIMUM_MANIFEST_BYTES)
    if (sha256 === null) continue
    const beginning = (await readNote(files, at, path, MAXIMUM_READ_BYTES)) ?? ''
    found.push({ name, sha256, isLocal: recipe.localDependency.test(beginning) })
  }
  return found
}

function digest(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex')
}

/** What the runtime says of itself. */
async function probed(
  { title, probe, withoutRuntime }: Recipe,
  { commands }: InstallNeeds,
  at: FileTarget,
  { env }: DependencyPlan,
): Promise<string> {
  const step = { what: `asking for ${title}`, argv: probe, cwd: '/', env, timeoutMs: PROBE_MS, hint: () => withoutRuntime }
  return (await runStep(commands, at, step, () => undefined)).trim()
}

function hintFor({ status }: CommandEnd, { hint }: RecipeStep, { network, timeoutMs }: DependencyPlan): string {
  if (status === 'timed_out') return `it took longer than ${timeoutMs / 1000} seconds; raise box.startup_timeout_sec`
  if (status === 'workspace_full') return 'the workspace is full; raise its bound, or remove files from it'
  if (hint !== undefined) return hint
  if (network === 'off') return 'the network of the box is off, so only what lies in the project can be installed; set box.network to "on"'
  return 'see the end of its output'
}
