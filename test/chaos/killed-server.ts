/**
 * A server killed with SIGKILL at any moment: its successor finds every sandbox with what runs in it, repairs what was
 * half made, leaves nothing behind and touches nothing of another server.
 *
 * The moments come from a seed, which is part of each test's name. `HOLDFAST_CHAOS_SEED` and `HOLDFAST_CHAOS_KILLS` set
 * another seed and a longer run.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { isHoldfastError } from '@holdfast/protocol'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Inside } from '../../packages/server/src/guest/inside.ts'
import type { BackendKind, SandboxBackend } from '../../packages/server/src/sandboxes/backend.ts'
import { subjectOf } from '../../packages/server/src/sandboxes/contract/contracts.ts'
import type { Laboratory } from '../../packages/server/src/sandboxes/contract/laboratory.ts'
import { openLaboratory } from '../../packages/server/src/sandboxes/contract/laboratory.ts'
import { shell } from '../../packages/server/src/sandboxes/contract/outcome.ts'
import { seededRandom } from '../../packages/server/src/sandboxes/contract/seeded-random.ts'
import type { BackendUnderTest } from '../environment/backends.ts'
import { backendsUnderTest, because } from '../environment/backends.ts'
import { expectedBytes } from './numbered-lines.ts'
import { openBackend } from './open-backend.ts'
import type { Deed, VictimPlan } from './victim.ts'

const KILLS = Number(process.env.HOLDFAST_CHAOS_KILLS ?? 3)
const SANDBOXES_PER_LIFE = 3
const SEED = process.env.HOLDFAST_CHAOS_SEED ?? 'holdfast'
const VICTIM = fileURLToPath(new URL('victim.ts', import.meta.url))

/** Lets a server live for a while, kills it, and gives what it had said by then. */
async function liveAndDie(plan: VictimPlan, lifeMs: number): Promise<readonly Deed[]> {
  const child = spawn(process.execPath, [VICTIM, JSON.stringify(plan)], { stdio: ['ignore', 'pipe', 'inherit'] })
  const died = once(child, 'exit')
  const deeds: Deed[] = []
  const lines = createInterface({ input: child.stdout })
  const ready = Promise.withResolvers<void>()
  lines.on('line', (line) => {
    deeds.push(JSON.parse(line))
    ready.resolve()
  })
  await Promise.race([ready.promise, died])
  await sleep(lifeMs)
  child.kill('SIGKILL')
  await Promise.all([died, once(lines, 'close')])
  expect(child.signalCode, `the victim died by itself after ${JSON.stringify(deeds.at(-1))}`).toBe('SIGKILL')
  return deeds
}

/** Reads until a good part has come, and compares every byte with what must stand at its place. */
async function expectUnbrokenOutput(inside: Inside, tag: string): Promise<void> {
  const execution = await inside.processes.attach({ tag })
  let position = execution.skippedBytes
  for await (const { bytes } of execution.output) {
    expect(bytes.toString('latin1'), `${tag} from byte ${position}`).toBe(expectedBytes(position, bytes.length))
    position += bytes.length
    // Beyond what can have been kept: the rest was printed for this reader.
    if (position - execution.skippedBytes > (tag === 'fast' ? 1_500_000 : 90)) return
  }
}

async function expectFoundAgain(laboratory: Laboratory, backend: SandboxBackend, deeds: readonly Deed[], name: string): Promise<void> {
  const inside = await laboratory.enter(await backend.attach(name))
  const created = deeds.find((deed) => deed.did === 'created' && deed.name === name)
  expect(inside.bootId).toBe(created?.bootId)
  const tags = deeds.filter((deed) => deed.did === 'started' && deed.name === name).flatMap(({ tag }) => tag ?? [])
  const running = (await inside.processes.list()).filter(({ state }) => state === 'running').map(({ tag }) => tag)
  expect(running).toEqual(expect.arrayContaining(tags))
  for (const tag of tags) await expectUnbrokenOutput(inside, tag)
  inside.close()
}

/** Nobody said that it was made: it can be used only if nothing is missing. */
async function useOf(laboratory: Laboratory, backend: SandboxBackend, name: string): Promise<string> {
  try {
    const inside = await laboratory.enter(await backend.attach(name))
    return await shell(inside, 'echo whole > /opt/made && cat /opt/made').finally(() => inside.close())
  } catch (error) {
    return isHoldfastError(error, 'sandbox_gone') || isHoldfastError(error, 'guest_unreachable') ? 'gone' : String(error)
  }
}

/** One test per kill, on one backend. */
export async function survivesKills(kind: BackendKind): Promise<void> {
  const under = (await backendsUnderTest()).find((candidate) => candidate.kind === kind)
  if (under === undefined) throw new Error(`the test machine knows no backend named ${kind}`)
  const title = `a killed server on ${kind}, seed ${SEED}${because(under)}`
  describe.skipIf(under.skipReason !== null)(title, () => describeKills(under))
}

function describeKills(under: BackendUnderTest): void {
  const random = seededRandom(`${SEED} ${under.kind}`)
  let opened: Laboratory | undefined
  let laboratory: Laboratory
  /** Another server on the same engine, and its sandbox. */
  let stranger: SandboxBackend
  let bystander: { readonly name: string; readonly inside: Inside }
  let bystanderTraces: ReadonlySet<string>
  let typicalMs: number

  beforeAll(async () => {
    opened = await openLaboratory(subjectOf(under, (needs) => openBackend(under, needs)))
    laboratory = opened
    stranger = laboratory.stranger()
    const name = laboratory.newName()
    const begun = performance.now()
    bystander = { name, inside: await laboratory.enter(await stranger.create(name, laboratory.spec())) }
    typicalMs = performance.now() - begun
    bystanderTraces = new Set(await laboratory.traces())
  })
  // A kill that failed its test must not fail the next one too.
  afterEach(async () => {
    for (const { name } of await laboratory.backend.list()) await laboratory.backend.destroy(name)
  })
  afterAll(async () => {
    expect((await opened?.close()) ?? [], 'left behind').toEqual([])
  })

  test.for(Array.from({ length: KILLS }, (_, kill) => kill + 1))('kill %i', async () => {
    const names = Array.from({ length: SANDBOXES_PER_LIFE }, () => laboratory.newName())
    const rootfs = laboratory.capabilities.writableRoot ? 'writable' : 'read-only'
    const plan = { under, needs: laboratory.needs, spec: laboratory.spec({ rootfs }), names }
    // From "nothing has begun" to "everything runs and one is being removed", whatever this machine's speed.
    // Squared, because most of what can be left half made is made early.
    const lifeMs = random() ** 2 * (typicalMs * (SANDBOXES_PER_LIFE + 1) + 100)
    const deeds = await liveAndDie(plan, lifeMs)
    const named = (did: Deed['did']): readonly string[] => deeds.filter((deed) => deed.did === did).map(({ name }) => name)

    const successor = laboratory.reopen()
    const listed = await successor.list()
    const doomed = named('destroying')
    const expectedAlive = named('created').filter((name) => !doomed.includes(name))
    expect(listed.filter(({ running }) => running).map(({ name }) => name)).toEqual(expect.arrayContaining(expectedAlive))
    expect(named('creating')).toEqual(expect.arrayContaining(listed.map(({ name }) => name)))
    for (const name of named('destroyed')) expect(listed.map((each) => each.name)).not.toContain(name)
    await Promise.all(expectedAlive.map((name) => expectFoundAgain(laboratory, successor, deeds, name)))
    const halfMade = listed.filter(({ name, running }) => running && !named('created').includes(name))
    const uses = rootfs === 'writable' ? await Promise.all(halfMade.map(({ name }) => useOf(laboratory, successor, name))) : []
    expect(uses.filter((use) => use !== 'whole' && use !== 'gone')).toEqual([])

    // Everything that was ever begun is either listed or never was; destroying by the list must clear it all.
    await Promise.all(listed.map(({ name }) => successor.destroy(name)))
    expect(await successor.list()).toEqual([])
    await expect.poll(() => tracesWithoutBystander()).toEqual([])
    await bystander.inside.ping()
    expect(await stranger.list()).toEqual([{ name: bystander.name, running: true }])
  })

  /** All of the laboratory but the other server's sandbox, which must stay. */
  async function tracesWithoutBystander(): Promise<readonly string[]> {
    return (await laboratory.traces()).filter((trace) => !bystanderTraces.has(trace))
  }
}
