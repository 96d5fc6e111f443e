/** Turns within a session. */
import { expect, test } from 'vitest'
import { createSessionTurns } from './session-turns.ts'

test('work of one session goes one after the other, also after a failure; another session does not wait', async () => {
  const turns = createSessionTurns()
  const gate = Promise.withResolvers<void>()
  const done: string[] = []
  const first = turns.take('a', async () => {
    await gate.promise
    done.push('first')
    throw new Error('it failed')
  })
  const second = turns.take('a', async () => void done.push('second'))
  await turns.take('b', async () => void done.push('other'))
  expect(done).toEqual(['other'])
  gate.resolve()
  await expect(first).rejects.toThrow('it failed')
  await second
  expect(done).toEqual(['other', 'first', 'second'])
})
