/** The hand-over of output to its one consumer, at its edges. */
import { expect, test } from 'vitest'
import { OutputReader } from './output-reader.ts'

test('a consumer that ends everything from within its own call hears the end', () => {
  const reader = new OutputReader(1024, () => undefined)
  const heard: string[] = []
  reader.consume({
    keepsBytes: false,
    chunk(_channel, bytes) {
      heard.push(bytes.toString())
      reader.complete()
      return true
    },
    finished: () => void heard.push('finished'),
  })
  reader.deliver(1, Buffer.from('last'))
  expect(heard).toEqual(['last', 'finished'])
})
