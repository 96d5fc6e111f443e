/** The generation fence: the newest generation alone is served, and nothing of an older one is left. */
import { describe, expect, test } from 'vitest'
import { createLog } from '../../telemetry/log.ts'
import { createFence } from './fence.ts'
import type { Fence } from './fence.ts'
import { tenantOf } from './tenant.ts'
import type { BoxTenant } from './tenant.ts'

interface World {
  readonly fence: Fence
  readonly events: string[]
  latest: number | null
  dropping: () => Promise<void>
  maxRecords: number
}

function world(): World {
  const events: string[] = []
  const state: World = {
    events,
    latest: null,
    dropping: async () => undefined,
    maxRecords: 10,
    fence: createFence({
      runtime: {
        latestGeneration: async () => state.latest,
        async dropOtherGenerations({ generation }) {
          events.push(`drop but ${generation}`)
          await state.dropping()
        },
      },
      maxRecords: () => state.maxRecords,
      log: createLog({ level: 'error', format: 'json' }, () => undefined),
    }),
  }
  return state
}
const generation = (number: number, workspace = 'ws-A'): BoxTenant =>
  tenantOf({ instance_uuid: 'i', workspace_uuid: workspace, placement_generation: number })
const STALE: unknown = expect.objectContaining({ boxClass: 'PermissionError' })
const run = async (fence: Fence, tenant: BoxTenant, work: () => Promise<unknown> = async () => 'done') =>
  fence.run(tenant, new AbortController(), work)

describe('an action', () => {
  test('runs when everything of other generations is gone, once per generation', async () => {
    const { fence, events } = world()
    await run(fence, generation(1), async () => events.push('one'))
    await run(fence, generation(1), async () => events.push('two'))
    expect(events).toEqual(['drop but 1', 'one', 'two'])
    await run(fence, generation(2), async () => events.push('three'))
    expect(events.slice(3)).toEqual(['drop but 2', 'three', 'drop but 2'])
  })

  test('of an older generation is refused, and does nothing', async () => {
    const { fence, events } = world()
    await run(fence, generation(3))
    await expect(run(fence, generation(2), async () => events.push('never'))).rejects.toEqual(STALE)
    expect(events).toEqual(['drop but 3'])
    expect(await run(fence, generation(1, 'ws-B'))).toBe('done')
  })

  test('is cancelled by a newer generation, and what it made after all is removed', async () => {
    const { fence, events } = world()
    const old = new AbortController()
    const [started, ending] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const slow = fence.run(generation(1), old, async () => {
      started.resolve()
      await ending.promise
      events.push('made late')
      return 'too late'
    })
    await started.promise
    expect(await run(fence, generation(2))).toBe('done')
    expect(old.signal.aborted).toBe(true)
    ending.resolve()
    await expect(slow).rejects.toEqual(STALE)
    expect(events).toEqual(['drop but 1', 'drop but 2', 'drop but 2', 'made late', 'drop but 2'])
  })

  test('does not begin when it is overtaken while it waits', async () => {
    const state = world()
    const gate = Promise.withResolvers<void>()
    state.dropping = async () => gate.promise
    const waiting = run(state.fence, generation(1), async () => state.events.push('never'))
    const newer = run(state.fence, generation(2))
    gate.resolve()
    await expect(waiting).rejects.toEqual(STALE)
    expect(await newer).toBe('done')
    expect(state.events).not.toContain('never')
  })

  test('does not begin while the clean-up fails, and the next one tries it again', async () => {
    const state = world()
    state.dropping = async () => Promise.reject(new Error('no'))
    await expect(run(state.fence, generation(1), async () => state.events.push('never'))).rejects.toThrow('no')
    state.dropping = async () => undefined
    expect(await run(state.fence, generation(1))).toBe('done')
    expect(state.events).toEqual(['drop but 1', 'drop but 1'])
  })

  test('that fails on its own is told so', async () => {
    await expect(run(world().fence, generation(1), async () => Promise.reject(new Error('own')))).rejects.toThrow('own')
  })
})

test('generations outlive the server with their sessions', async () => {
  const state = world()
  state.latest = 4
  await expect(run(state.fence, generation(3))).rejects.toEqual(STALE)
  expect(await run(state.fence, generation(4))).toBe('done')
})

test('there are only so many workspaces', async () => {
  const state = world()
  state.maxRecords = 1
  await run(state.fence, generation(1))
  await expect(run(state.fence, generation(1, 'ws-B'))).rejects.toMatchObject({ boxClass: 'BoxCapacityExceededError' })
  expect(await run(state.fence, generation(1))).toBe('done')
})

test('whoever holds something of an older generation is told once, unless it has let go', async () => {
  const { fence } = world()
  const told: string[] = []
  fence.onStale(generation(1), () => told.push('relay'))
  fence.onStale(generation(1), () => told.push('gone'))()
  fence.onStale(generation(1, 'ws-B'), () => told.push('other'))
  fence.onStale(generation(2), () => told.push('newer'))
  expect(fence.isCurrent(generation(7))).toBe(true)
  await run(fence, generation(1))
  expect([told, fence.isCurrent(generation(1)), fence.isCurrent(generation(2))]).toEqual([[], true, false])
  await run(fence, generation(2))
  expect([told, fence.isCurrent(generation(1)), fence.isCurrent(generation(2))]).toEqual([['relay'], false, true])
  await run(fence, generation(3))
  expect(told).toEqual(['relay', 'newer'])
})
