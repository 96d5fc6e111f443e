/** Output as progress messages: whole lines, and only so much of it. */
import { expect, test } from 'vitest'
import { outputProgress } from './output-progress.ts'

function listener() {
  const heard: { readonly progress: number; readonly message: string }[] = []
  const onOutput = outputProgress(async (progress, message) => void heard.push({ progress, message }))
  const print = async (text: string | Uint8Array, channel: 'stdout' | 'stderr' = 'stdout') =>
    onOutput({ channel, bytes: Buffer.from(text), seq: 0 })
  return { heard, print }
}

test('a message has the lines that became whole, and its number grows', async () => {
  const { heard, print } = listener()
  await print('one\ntw')
  await print('o')
  await print('\nthree\n')
  expect(heard).toEqual([
    { progress: 1, message: 'one' },
    { progress: 2, message: 'two\nthree' },
  ])
})

test('the two streams and the bytes of a character are not mixed up', async () => {
  const { heard, print } = listener()
  const [first, second] = [Buffer.from('é\n').subarray(0, 1), Buffer.from('é\n').subarray(1)]
  await print(first)
  await print('wrong\n', 'stderr')
  await print(second)
  expect(heard.map(({ message }) => message)).toEqual(['wrong', 'é'])
})

test('there are at most a thousand messages of a thousand characters, and the last says so', async () => {
  const { heard, print } = listener()
  await print(`${'x'.repeat(5_000)}end\n`)
  for (let line = 0; line < 2_000; line += 1) await print('y\n')
  expect(heard).toHaveLength(1_000)
  expect(heard[0]?.message).toHaveLength(1_000)
  expect(heard[0]?.message).toMatch(/end$/)
  expect(heard.at(-1)).toEqual({ progress: 1_000, message: 'more is printed than is shown here' })
})

test('a line without an end is not kept whole', async () => {
  const { heard, print } = listener()
  for (let piece = 0; piece < 100; piece += 1) await print('x'.repeat(1_000))
  await print('\n')
  expect(heard.map(({ message }) => message.length)).toEqual([1_000])
})
