/** The generated part of `docs/backends.md`: the probes' words as tables. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Capabilities, CapabilityName } from '../../../packages/server/src/sandboxes/backend.ts'
import { packingProblem } from '../../../packages/server/src/sandboxes/backends/packing-trial.ts'
import { ON_EVERY_BACKEND, WITHOUT_IMAGES } from '../../../packages/server/src/sandboxes/contract/excuses.ts'
import { dockerWords, podmanWords } from './engine-words.ts'
import { bubblewrapWords, nsjailWords } from './jail-words.ts'
import { NOWHERE } from './words.ts'
import type { BackendWords } from './words.ts'

const BACKENDS = join(import.meta.dirname, '..', '..', '..', 'packages', 'server', 'src', 'sandboxes', 'backends')

/** In the words of `holdfast doctor`. */
export const CAPABILITIES: Readonly<Record<CapabilityName, string>> = {
  cpus: 'cpu limit',
  memory: 'memory limit',
  pids: 'process limit',
  networkOn: 'network',
  images: 'images',
  writableRoot: 'writable root',
  rootUser: 'root inside (`user: root`)',
  severalUsers: 'several users',
  packing: 'packed sessions',
}

export const NAMES = Object.keys(CAPABILITIES).filter(isCapability)

function isCapability(name: string): name is CapabilityName {
  return Object.hasOwn(CAPABILITIES, name)
}

export function can({ limits, ...rest }: Capabilities, name: CapabilityName): boolean {
  return { ...limits, ...rest }[name]
}

/** Without what differs between limits and machines: the name of a controller, a path, what a program complained about. */
export function sentence(reason: string): string {
  return reason
    .replace(/\b(?:cpu|memory|pids) controller\b/, 'needed controller')
    .replace(/(?<=^the cgroup )\S+|^\S+(?= is mounted read-only)/, '…')
    .replace(/(?<=Linux 5\.2 or newer \().*(?=\)$)/, '…')
}

/** In the order of automatic choice. */
export async function backendWords(): Promise<readonly BackendWords[]> {
  // The same question for every backend; what a server that is root finds out is a matter of the machine.
  const packing = await packingProblem(NOWHERE, undefined, false)
  return [await podmanWords(packing), await dockerWords(packing), await nsjailWords(packing), await bubblewrapWords(packing)]
}

export async function backendsPart(): Promise<string> {
  const words = await backendWords()
  return [glance(words), missing(words), unavailable(words), excused(words)].join('\n')
}

function glance(words: readonly BackendWords[]): string {
  const cell = ({ best, lacking }: BackendWords, name: CapabilityName): string => {
    if (!can(best, name)) return '**no**'
    return lacking.every((capabilities) => can(capabilities, name)) ? 'yes' : 'yes, unless'
  }
  return table([
    ['', ...words.map(({ kind }) => kind)],
    ...NAMES.map((name) => [CAPABILITIES[name], ...words.map((backend) => cell(backend, name))]),
  ])
}

/** Each sentence once, with all that it is said of. */
function missing(words: readonly BackendWords[]): string {
  const said = words.flatMap(({ kind, best, lacking }) =>
    [best, ...lacking].flatMap(({ reasons }) =>
      NAMES.flatMap((name) => {
        const reason = reasons[name]
        return reason === undefined ? [] : [{ kind, name: CAPABILITIES[name], reason: sentence(reason) }]
      }),
    ),
  )
  const rows = [...Map.groupBy(said, ({ reason }) => reason)].map(([reason, about]) => [
    once(about.map(({ name }) => name)),
    once(about.map(({ kind }) => kind)),
    reason,
  ])
  return `### Why one is missing\n\n${table([['No', 'On', 'Because; what changes it'], ...rows])}`
}

function unavailable(words: readonly BackendWords[]): string {
  const said = words.flatMap(({ kind, refusals }) => refusals.map(({ reason, fix }) => ({ kind, reason, fix })))
  const rows = [...Map.groupBy(said, ({ reason, fix }) => JSON.stringify([reason, fix])).values()].map((about) => [
    once(about.map(({ kind }) => kind)),
    about[0]?.reason ?? '',
    about[0]?.fix ?? '',
  ])
  return `### Why one is not available\n\n${table([['Backend', 'Reason', 'Fix'], ...rows])}`
}

/** Promises of the contract suites that a backend is excused from, by its own test. */
function excused(words: readonly BackendWords[]): string {
  const kinds = words
    .map(({ kind }) => kind)
    .filter((kind) => readFileSync(join(BACKENDS, kind, `${kind}.contract.test.ts`), 'utf8').includes('WITHOUT_IMAGES'))
  const rows = [
    ...Object.entries(WITHOUT_IMAGES).map(([promise, reason]) => [kinds.join(', '), promise, reason]),
    ...Object.entries(ON_EVERY_BACKEND).map(([promise, reason]) => ['all', promise, reason]),
  ]
  return `### What the contracts excuse\n\n${table([['Backend', 'Promise', 'Reason'], ...rows])}`
}

function once(words: readonly string[]): string {
  return [...new Set(words)].join(', ')
}

function table([head = [], ...rows]: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`
  return `${line(head)}|${'---|'.repeat(head.length)}\n${rows.map(line).join('')}`
}
