/** `holdfast doctor`: each backend's state, what it can do here, and the command that fixes what is missing. Changes nothing. */
import { mkdtempSync, rmSync, accessSync, constants } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CapabilityName, Config, ProbedBackend } from '@holdfast/server'
import type { Command } from 'commander'
import { withFormat } from '../flags/output-flags.ts'
import { machineFacts } from '../machine-facts.ts'
import type { MachineFacts } from '../machine-facts.ts'
import { structured, write } from '../output/print.ts'
import type { Format } from '../output/print.ts'
import { facts } from '../output/table.ts'
import { surfaceOf } from '../output/tint.ts'
import { startSpinner } from '../spinner.ts'

interface Findings {
  readonly machine: MachineFacts
  readonly guest: { readonly built: boolean; readonly fix?: string }
  /** Whether sandboxes have other users of the host than the server. */
  readonly users: { readonly own: boolean; readonly reason?: string; readonly fix?: string }
  readonly backends: readonly ProbedBackend[]
  /** The backend that is configured, or the first that `auto` tries; `null`: none can be used. */
  readonly chosen: string | null
  /** What `auto` takes where the first one cannot get its image; `null`: the first needs none, or there is no other. */
  readonly otherwise: string | null
  /** What the first one needs. */
  readonly image: string | null
  /** Backends that may be taken and refuse every sandbox with the configured defaults, with the reasons and the fixes. */
  readonly refusing: readonly { readonly kind: string; readonly obstacles: readonly string[] }[]
}

export function addDoctor(program: Command): void {
  const command = program
    .command('doctor')
    .description('what this machine can do, what is missing, and the command that fixes it')
    .addHelpText(
      'after',
      `\nExamples:\n  holdfast doctor\n  holdfast doctor -o json | jq .chosen\n\nExit code 1 when no sandbox can be made.`,
    )
  withFormat(command).action(doctor)
}

async function doctor({ output }: { readonly output: Format }): Promise<void> {
  const { loadConfig } = await import('@holdfast/server')
  const config = loadConfig()
  const spinner = startSpinner('probing the backends')
  const findings = await examine(config).finally(spinner.stop)
  await write(output === 'table' ? report(findings) : await structured(findings, output))
  if (findings.chosen === null || !findings.guest.built) process.exitCode = 1
}

async function examine(config: Config): Promise<Findings> {
  const { createBackendRegistry, defaultObstacles, probeAll, randomId } = await import('@holdfast/server')
  // A directory of its own, so that looking leaves nothing in the home.
  const stateDir = mkdtempSync(join(tmpdir(), 'holdfast-doctor-'))
  const registry = createBackendRegistry(
    { serverId: randomId('srv'), stateDir, guestPath: config.guestPath, launcherPath: config.launcherPath },
    config,
  )
  try {
    const backends = await probeAll(registry.open)
    const isBuilt = isExecutable(config.guestPath) && isExecutable(config.launcherPath)
    const guest = isBuilt ? { built: true } : { built: false, fix: 'npm run up builds the guest and the launcher with the C compiler' }
    const choice = choiceOf(config, backends)
    const refusing = backends.flatMap(({ kind, probe }) => {
      const obstacles =
        probe.available && (kind === choice.chosen || kind === choice.otherwise) ? defaultObstacles(config, probe.capabilities) : []
      return obstacles.length === 0 ? [] : [{ kind, obstacles }]
    })
    return { machine: machineFacts(), guest, users: await usersOf(config), backends, ...choice, refusing }
  } finally {
    await registry.close()
    rmSync(stateDir, { recursive: true, force: true })
  }
}

/** Only a start finds out whether an engine can get its image: that may take a download. */
export function choiceOf(
  { backend, image }: Pick<Config, 'backend' | 'image'>,
  backends: readonly ProbedBackend[],
): Pick<Findings, 'chosen' | 'otherwise' | 'image'> {
  const usable = backends.flatMap(({ kind, probe }) => (probe.available ? [{ kind, hasImages: probe.capabilities.images }] : []))
  const allowed = usable.filter(({ kind }) => backend === 'auto' || kind === backend)
  const [first] = allowed
  const needsImage = backend === 'auto' && first?.hasImages === true
  const otherwise = needsImage ? allowed.find(({ hasImages }) => !hasImages) : undefined
  return { chosen: first?.kind ?? null, otherwise: otherwise?.kind ?? null, image: needsImage ? image : null }
}

export function verdictOf({ refusing, ...choice }: Pick<Findings, 'chosen' | 'otherwise' | 'image' | 'refusing'>): string {
  const refusals = refusing.map(
    ({ kind, obstacles }) =>
      `\nWith the configured defaults ${kind} refuses every sandbox:${obstacles.map((line) => `\n  ${line}`).join('')}`,
  )
  return `${choiceWords(choice)}${refusals.join('')}`
}

function choiceWords({ chosen, otherwise, image }: Pick<Findings, 'chosen' | 'otherwise' | 'image'>): string {
  if (chosen === null) return 'No backend is available: sandboxes cannot be made until one of the fixes above is applied.'
  if (image === null) return `Sandboxes are made with ${chosen}.`
  return `Sandboxes are made with ${chosen} if it has the image ${image} or can pull it${otherwise === null ? '' : `, otherwise with ${otherwise}`}.`
}

async function usersOf(config: Config): Promise<Findings['users']> {
  const { findSubordinateIds } = await import('@holdfast/server')
  if (process.getuid?.() === 0) return { own: true }
  const found = await findSubordinateIds(config)
  return 'problem' in found ? { own: false, reason: found.problem, fix: found.fix } : { own: true }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function report({ machine, guest, users, backends, ...choice }: Findings): string {
  const machineRows: readonly (readonly [string, string])[] = [
    ['node', machine.node],
    ['kernel', machine.kernel],
    ['user', machine.user],
    ['cgroups', machine.cgroups],
    ['user namespaces', machine.userNamespaces],
    ['sandbox users', users.own ? 'their own' : `the server’s: ${users.reason}; ${users.fix}`],
    ['guest', guest.built ? 'built' : `not built: ${guest.fix}`],
  ]
  return `${facts(machineRows, surfaceOf(process.stdout))}\n${backends.map(backendLines).join('\n')}\n\n${verdictOf(choice)}\n`
}

/** What each capability is called for people. */
const ABILITIES: Readonly<Record<CapabilityName, string>> = {
  cpus: 'cpu limit',
  memory: 'memory limit',
  pids: 'process limit',
  networkOn: 'network',
  images: 'images',
  writableRoot: 'writable root',
  rootUser: 'root inside',
  severalUsers: 'several users',
  packing: 'packed sessions',
}

function backendLines({ kind, probe }: ProbedBackend): string {
  if (!probe.available) return `✗ ${kind}: ${probe.reason}\n    fix: ${probe.fix}`
  const { limits, reasons, ...rest } = probe.capabilities
  const can = { ...limits, ...rest }
  const names: readonly CapabilityName[] = [
    'cpus',
    'memory',
    'pids',
    'networkOn',
    'images',
    'writableRoot',
    'rootUser',
    'severalUsers',
    'packing',
  ]
  const present = names.filter((name) => can[name]).map((name) => ABILITIES[name])
  const absent = names.filter((name) => !can[name]).map((name) => `    no ${ABILITIES[name]}: ${reasons[name] ?? 'no reason was given'}`)
  return [`✓ ${kind} ${probe.version}${present.length === 0 ? '' : `: ${present.join(', ')}`}`, ...absent].join('\n')
}
