/** From nothing to the first command's end, against what cannot be avoided: the engine's own creation, or a plain `sh` on the host. */
import { setTimeout as delay } from 'node:timers/promises'
import { runInside } from '../command.ts'
import { createEngineReference, isEngine, type EngineReference } from '../engine-reference.ts'
import type { Bar, Measured } from '../figure.ts'
import type { Ground } from '../ground.ts'
import { interleave, timed, type Samples } from '../interleave.ts'
import type { Measure } from '../measure.ts'
import type { LiveSandbox } from '../../packages/server/src/sandboxes/live-sandbox.ts'
import { spawnOnHost } from '../reference.ts'
import { median } from '../statistics.ts'

const FIRST_COMMAND = ['sh', '-c', 'true'] as const
const AT_ONCE = 8
/** The kernel takes namespaces and cgroups apart in the background; that work is neither side's. */
const SETTLE_MS = 30
const SHELLS_IN_A_ROW = 5

export const cold: Measure = {
  name: 'cold',
  doing: 'create a sandbox and run its first command',
  run: (ground) => (isEngine(ground.kind) ? againstEngine(ground) : againstShell(ground)),
}

async function againstEngine(ground: Ground): Promise<readonly Measured[]> {
  const engine = await createEngineReference({ ...ground.place, spec: ground.defaultSpec })
  try {
    const one = await interleave(
      { runs: ground.pick({ full: 24, quick: 3 }), blockRuns: 1 },
      () => timeEngine(engine, 1),
      () => timeCold(ground, 1),
    )
    const eight = await interleave(
      { runs: ground.pick({ full: 8, quick: 1 }), blockRuns: 1 },
      () => timeEngine(engine, AT_ONCE),
      () => timeCold(ground, AT_ONCE),
    )
    const title = 'cold create + first command'
    // Only Docker was promised.
    const bar = (limit: number): Bar | null => (ground.kind === 'docker' ? { of: 'ratio', at: 'most', limit } : null)
    return [
      { id: 'cold-one', title, ...comparison(one, 'the engine’s own create + start'), bar: bar(1.15) },
      { id: 'cold-eight', title: `${title}, 8 at once`, ...comparison(eight, 'the engine’s own, 8 at once'), bar: bar(1.25) },
    ]
  } finally {
    await engine.close()
  }
}

async function againstShell(ground: Ground): Promise<readonly Measured[]> {
  const samples = await interleave({ runs: ground.pick({ full: 100, quick: 8 }), blockRuns: 4 }, timeShell, () =>
    delay(SETTLE_MS).then(() => timeCold(ground, 1)),
  )
  const bar: Bar | null = ground.kind === 'bubblewrap' ? { of: 'ratio', at: 'most', limit: 6 } : null
  return [{ id: 'cold-shell', title: 'cold create + first command, with limits', ...comparison(samples, 'spawn of sh on the host'), bar }]
}

function comparison(samples: Samples, title: string): Pick<Measured, 'value' | 'unit' | 'samples' | 'reference'> {
  return {
    value: median(samples.subject),
    unit: 'ms',
    samples: samples.subject.length,
    reference: { title, value: median(samples.reference) },
  }
}

/** The median of a few in a row: the first one after a pause is slower, and a slow reference would flatter us. */
async function timeShell(): Promise<number> {
  await delay(SETTLE_MS)
  const times: number[] = []
  while (times.length < SHELLS_IN_A_ROW) times.push(await timed(() => spawnOnHost(FIRST_COMMAND)))
  return median(times)
}

/** Wall time of so many at once; their removal is not part of it. */
async function timeCold(ground: Ground, count: number): Promise<number> {
  const made: LiveSandbox[] = []
  const makeOne = async () => {
    const sandbox = await ground.launch(ground.defaultSpec)
    made.push(sandbox)
    await runInside(sandbox.inside, FIRST_COMMAND)
  }
  const elapsedMs = await timed(() => Promise.all(Array.from({ length: count }, makeOne)))
  await Promise.all(made.map((sandbox) => sandbox.destroy()))
  return elapsedMs
}

async function timeEngine(engine: EngineReference, count: number): Promise<number> {
  const containers = await Promise.all(Array.from({ length: count }, () => engine.prepare()))
  const elapsedMs = await timed(() => Promise.all(containers.map((container) => container.start())))
  await Promise.all(containers.map((container) => container.remove()))
  return elapsedMs
}
