/** When a workspace is measured, and that its sandbox stands still meanwhile. */
import { expect, test } from 'vitest'
import type { FreeSpace } from './free-space.ts'
import type { Measured } from './measuring.ts'
import { watchWorkspace } from './workspace-watch.ts'
import type { WorkspaceWatch } from './workspace-watch.ts'

const MEBIBYTE = 2 ** 20
const BOUNDS = { bytes: 20 * MEBIBYTE, entries: 1000, hidden: 0 }
const DISK = { bytes: 1000 * MEBIBYTE, entries: 1_000_000 }

/** A watch over a disk and a measurement that the test decides, with everything that happens in order. */
async function openWatch({ isNew = false, bounds = BOUNDS } = {}): Promise<{
  readonly watch: WorkspaceWatch
  readonly happened: string[]
  /** What happened before the first command. */
  readonly first: readonly string[]
  now: number
  held: Measured
  /** The file system has so much less; resolves when what follows is over. */
  look(fellBytes: number): Promise<boolean>
}> {
  const happened: string[] = []
  let onLook: (free: FreeSpace) => boolean = () => false
  const measured = (bytes: number, more: Partial<Measured> = {}): Measured => ({
    ...{ usage: { bytes, entries: 1, hidden: 0 }, isOver: false, unseen: 0 },
    ...more,
  })
  const state = {
    now: 0,
    held: measured(0),
    happened,
    async look(fellBytes: number) {
      const isSoon = onLook({ ...DISK, bytes: DISK.bytes - fellBytes })
      await new Promise((resolve) => {
        setImmediate(resolve)
      })
      return isSoon
    },
  }
  const watch = watchWorkspace({
    measuring: {
      async measure() {
        happened.push('measure')
        return state.held
      },
    },
    freeSpace: {
      watch(_directories, given) {
        onLook = given
        return () => happened.push('unwatch')
      },
    },
    ...{ clock: () => state.now, places: [], uid: null, bounds, isNew, isBusy: () => true },
    async freeze() {
      happened.push('freeze')
      return async () => void happened.push('thaw')
    },
    async stopWriters(thaw) {
      happened.push('cancel')
      await thaw()
      happened.push('kill')
      state.held = measured(state.held.usage.bytes)
    },
    onStopped: async () => void happened.push('stopped'),
    ...{ onMeasuring() {}, onMeasured() {} },
    onTrouble: (error) => happened.push(String(error)),
  })
  await watch.ready()
  await state.look(0)
  const first = happened.splice(0)
  return Object.assign(state, { watch, first })
}

test('measures when the file system lost half of what the session may add, with the sandbox frozen', async () => {
  const watch = await openWatch()
  expect(await watch.look(9 * MEBIBYTE)).toBe(true)
  expect(watch.happened).toEqual([])
  watch.held = { ...watch.held, usage: { bytes: 11 * MEBIBYTE, entries: 1, hidden: 0 } }
  await watch.look(11 * MEBIBYTE)
  expect(watch.happened).toEqual(['freeze', 'measure', 'thaw'])
})

test('a writer over its bound is killed as soon as it is thawed', async () => {
  const watch = await openWatch()
  watch.held = { usage: { bytes: 25 * MEBIBYTE, entries: 1, hidden: 0 }, isOver: true, unseen: 0 }
  await watch.look(25 * MEBIBYTE)
  expect(watch.happened).toEqual(['freeze', 'measure', 'cancel', 'thaw', 'kill', 'measure', 'stopped'])
})

test('time alone measures without freezing, and young work is looked at often', async () => {
  const watch = await openWatch()
  watch.now = 2_000
  expect(await watch.look(0)).toBe(true)
  expect(watch.happened).toEqual(['measure'])
  watch.now = 6_000
  expect(await watch.look(0)).toBe(false)
})

test('a workspace that was just made is measured after its first command began, and not before', async () => {
  const watch = await openWatch({ isNew: true })
  expect(watch.first).toEqual([])
  expect(watch.watch.usage).toEqual({ bytes: 0, entries: 0, hidden: 0 })
  await watch.look(11 * MEBIBYTE)
  expect(watch.happened).toEqual(['freeze', 'measure', 'thaw'])
})

test('with gigabytes left, young work is not looked at often', async () => {
  const watch = await openWatch({ bounds: { ...BOUNDS, bytes: 10 * 2 ** 30 } })
  expect(await watch.look(0)).toBe(false)
})

test('descriptors that wait in a connection are allowed for a moment, and then stop the session', async () => {
  const watch = await openWatch()
  watch.held = { ...watch.held, unseen: 1 }
  watch.now = 2_000
  await watch.look(0)
  watch.now = 2_100
  await watch.look(0)
  expect(watch.happened).toEqual(['measure'])
  watch.now = 2_200
  await watch.look(0)
  expect(watch.happened).toEqual(['measure', 'measure', 'cancel', 'kill', 'measure', 'stopped'])
})

test('looks no more once it is stopped', async () => {
  const watch = await openWatch()
  watch.watch.stop()
  await watch.look(100 * MEBIBYTE)
  expect(watch.happened).toEqual(['unwatch'])
})
