/**
 * One run of the benchmark: backend by backend, measure by measure.
 *
 * A backend that does not work here is skipped by name with its reason; a measure that fails ends the run, because a table with a hole in it
 * would look like a result.
 */
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { randomId } from '../packages/server/src/home/random-id.ts'
import type { BackendNeeds } from '../packages/server/src/sandboxes/backend.ts'
import { prepareMachine, type BackendUnderTest } from '../test/environment/machine.ts'
import { runChild } from './children/run-child.ts'
import { judged, type Figure, type Measured } from './figure.ts'
import { createGround, type Ground } from './ground.ts'
import { machineFacts } from './machine-facts.ts'
import { MEASURES } from './measures/all.ts'
import type { BenchOptions } from './options.ts'
import { figureLine } from './report.ts'
import type { BackendOutcome, Results } from './results.ts'

const BUILT = join(import.meta.dirname, '../guest/build')

type Say = (line: string) => void

export async function bench(options: BenchOptions, directory: string, say: Say, signal: AbortSignal): Promise<Results> {
  const machine = machineFacts()
  if (machine.loadBefore > machine.cores / 2)
    say(`note: this machine is busy (load ${machine.loadBefore}); ratios are steadier than figures`)
  say(`preparing ${options.kinds.join(' and ')}`)
  const backends: BackendOutcome[] = []
  const figures: Figure[] = []
  for (const under of await prepareMachine(directory, options.kinds)) {
    const ground = await openGround(under, directory, options.isQuick)
    if ('skipReason' in ground) {
      say(`${under.kind} is skipped: ${ground.skipReason}`)
      backends.push({ kind: under.kind, skipReason: withoutPaths(ground.skipReason) })
      continue
    }
    backends.push({ kind: ground.kind, version: ground.version, missingLimits: ground.missingLimits })
    try {
      figures.push(...(await measureAll(ground, options, say, signal)))
    } finally {
      await ground.close()
    }
  }
  return { version: 1, date: new Date().toISOString(), isQuick: options.isQuick, machine, backends, figures }
}

/** Each in a process of its own, so that none inherits another's memory. */
async function measureAll(ground: Ground, options: BenchOptions, say: Say, signal: AbortSignal): Promise<readonly Figure[]> {
  const figures: Figure[] = []
  for (const { name, doing } of MEASURES.filter((measure) => options.measures.includes(measure.name))) {
    signal.throwIfAborted()
    say(`${ground.kind}: ${name}: ${doing} …`)
    const work = { ...ground.place, name, isQuick: options.isQuick }
    for (const measured of await runChild<readonly Measured[]>('one-measure.ts', work, { signal })) {
      const figure = judged(ground.kind, measured)
      say(`  ${figureLine(figure)}`)
      figures.push(figure)
    }
  }
  return figures
}

async function openGround(under: BackendUnderTest, directory: string, isQuick: boolean): Promise<Ground | { readonly skipReason: string }> {
  if (under.skipReason !== null) return { skipReason: under.skipReason }
  try {
    return await createGround(under, backendNeeds(under, directory), isQuick)
  } catch (error) {
    return { skipReason: error instanceof Error ? error.message : String(error) }
  }
}

/** The guest is copied: a build that runs meanwhile must not change what is measured, and sandboxes may not see the repository. */
function backendNeeds({ kind }: BackendUnderTest, directory: string): BackendNeeds {
  const stateDir = join(directory, `state-${kind}`)
  mkdirSync(stateDir, { mode: 0o700 })
  const copied = (name: string) => {
    copyFileSync(join(BUILT, name), join(stateDir, name))
    return join(stateDir, name)
  }
  return { serverId: randomId('bench'), stateDir, guestPath: copied('holdfast-guest'), launcherPath: copied('holdfast-launcher') }
}

/** Results are published; paths of this machine are not. */
function withoutPaths(reason: string): string {
  return reason.replace(/(\/[\w.@+-]+){2,}/g, '<path>')
}
