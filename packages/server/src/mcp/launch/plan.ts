/**
 * How an MCP server is put into its box: a decision from its configuration and from what its caller may know of the host.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * Nothing is done here. The same configuration over the same files is the same plan.
 */
import { posix } from 'node:path'
import type { MountWish } from '@holdfast/protocol'
import { DEFAULT_WORKSPACE } from '@holdfast/protocol'
import { WORKSPACE_FOLDER } from '@holdfast/protocol/mcp'
import type { McpServerConfig } from '@holdfast/protocol/mcp'
import { boxPlaces } from './box-places.ts'
import type { BoxPlaces } from './box-places.ts'
import { runtimesOf } from './dependency-plan.ts'
import type { DependencyPlan, Runtime } from './dependency-plan.ts'
import type { HostLook } from './host-look.ts'
import { rewriter } from './path-rewriting.ts'
import { findProject } from './project-root.ts'

export interface StagePlan {
  /** On the host, without links in it; the rules for mounts let it through. */
  readonly source: string
  readonly places: BoxPlaces
}

export interface LaunchPlan {
  /** On the host, as the configuration writes it. */
  readonly projectRoot: string | null
  /** `plain`: the box has all it needs. */
  readonly mode: 'plain' | 'copied' | 'mounted'
  readonly argv: readonly string[]
  /** `null`: the session's workspace. */
  readonly cwd: string | null
  readonly env: Readonly<Record<string, string>>
  readonly stage: StagePlan | null
  /** What the sandbox has to be made with. */
  readonly mount: MountWish | null
  readonly dependencies: DependencyPlan | null
  /** Sentences about what was left as it is: for the log, and for whoever wonders why something is not found. */
  readonly notes: readonly string[]
}

/** Those who fetch what they run ask for minutes where nobody can answer; told so, they say at once that it is not there. */
const OFFLINE: Readonly<Record<string, string>> = { npm_config_offline: 'true', UV_OFFLINE: '1' }

/** Programs that were installed come first, and the process stays the one that was started. */
const WITH_PATH = 'export PATH="$1:${PATH:-/usr/local/bin:/usr/bin:/bin}"; shift; exec "$@"'

/** Throws `mount_refused` and `invalid_request`, each with the field and what to do. `workspace` is the session's, in its sandbox. */
export async function planLaunch(
  name: string,
  configured: McpServerConfig,
  look: HostLook,
  workspace: string = DEFAULT_WORKSPACE,
): Promise<LaunchPlan> {
  const config = inWorkspace(configured, workspace)
  const { command, args, cwd, env, box } = config
  const places = boxPlaces(name, workspace)
  const { project, notes } = await findProject(config, look, workspace)
  const runtimes = project === null ? [] : await runtimesOf(config, project, look)
  const rewrite = rewriter({ project, into: places.project, venv: runtimes.includes('python') ? places.venv : null })
  const source = project === null ? null : await look.settle(project.root)
  const isMounted = box.host_path_mode === 'rw'
  return {
    projectRoot: project?.root ?? null,
    mode: source === null ? 'plain' : isMounted ? 'mounted' : 'copied',
    argv: withPath([command, ...args].map(rewrite), runtimes, places),
    cwd:
      cwd === undefined
        ? project === null
          ? null
          : places.project
        : posix.resolve(project === null ? workspace : places.project, rewrite(cwd)),
    env: {
      ...(box.network === 'off' ? OFFLINE : {}),
      ...(runtimes.includes('python') ? { VIRTUAL_ENV: places.venv } : {}),
      ...mapValues({ ...box.env, ...env }, rewrite),
    },
    stage: source === null || isMounted ? null : { source, places },
    mount: source !== null && isMounted ? { source, target: places.project, mode: 'rw' } : null,
    dependencies:
      runtimes.length === 0
        ? null
        : {
            places,
            runtimes,
            network: box.network,
            env: mapValues(box.env, rewrite),
            timeoutMs: box.startup_timeout_sec * 1000,
          },
    notes,
  }
}

function withPath(argv: readonly string[], runtimes: readonly Runtime[], { venv, project }: BoxPlaces): readonly string[] {
  if (runtimes.length === 0) return argv
  const directories = runtimes.map((runtime) => (runtime === 'python' ? `${venv}/bin` : `${project}/node_modules/.bin`))
  return ['/bin/sh', '-c', WITH_PATH, 'sh', directories.join(':'), ...argv]
}

/** VS Code's word for the directory that one works in. */
function inWorkspace(config: McpServerConfig, workspace: string): McpServerConfig {
  const fill = (text: string) => text.replaceAll(WORKSPACE_FOLDER, workspace)
  const { command, args, env, cwd, box } = config
  return {
    ...config,
    command: fill(command),
    args: args.map(fill),
    env: mapValues(env, fill),
    cwd: cwd === undefined ? cwd : fill(cwd),
    box: { ...box, env: mapValues(box.env, fill) },
  }
}

function mapValues(record: Readonly<Record<string, string>>, change: (value: string) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]))
}
