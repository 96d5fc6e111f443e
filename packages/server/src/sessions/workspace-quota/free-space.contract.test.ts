/** Free space of real file systems, looked at only while somebody watches. */
import { mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createFreeSpaceWatch } from './free-space.ts'
import type { FreeSpace } from './free-space.ts'

test('counts each file system once, whatever lies on it, and ends with the last watcher', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-space-'))
  const { watch } = createFreeSpaceWatch()
  const looked = (directories: readonly string[]) =>
    new Promise<FreeSpace>((resolve) => {
      let looks = 0
      const unwatch = watch(directories, (free) => {
        looks += 1
        if (looks === 3) {
          unwatch()
          resolve(free)
        }
        return true
      })
    })
  const total = statfsSync(directory)
  const free = await looked([directory, join(directory, 'missing'), tmpdir()])
  expect(free.bytes).toBeGreaterThan(0)
  expect(free.bytes).toBeLessThanOrEqual(total.blocks * total.bsize)
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const before = timers()
  await looked([directory])
  // Others in this process have timers too, which come and go.
  await expect.poll(timers).toBeLessThanOrEqual(before)
  rmSync(directory, { recursive: true })
})
