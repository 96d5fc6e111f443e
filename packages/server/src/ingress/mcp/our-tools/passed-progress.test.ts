/** Progress of other servers: only what is progress, and only so much of it. */
import { expect, test } from 'vitest'
import { passedProgress } from './passed-progress.ts'
import type { ToldProgress } from './passed-progress.ts'

test('progress is passed on with its total and its message, and nothing else is', () => {
  const heard: ToldProgress[] = []
  const told = passedProgress(async (progress) => void heard.push(progress))
  told({ progress: 1, total: 4, message: 'x'.repeat(5_000), progressToken: 7, more: {} })
  told({ progress: 2, total: 'four', message: 4 })
  told({ progress: '3' })
  expect(heard).toEqual([{ progress: 1, total: 4, message: 'x'.repeat(1_000) }, { progress: 2 }])
})

test('there are at most a thousand messages, and a client that left is no failure', () => {
  let asked = 0
  const told = passedProgress(async () => {
    asked += 1
    throw new Error('nobody is there')
  })
  for (let progress = 0; progress < 2_000; progress += 1) told({ progress })
  expect(asked).toBe(1_000)
})
