/** Asking a server whether it is there. */
import { expect, test } from 'vitest'
import type { SharedServer } from '../share/shared-server.ts'
import { watchHealth } from './health.ts'

const rules = { everyMs: 1, waitMs: 1, questions: 3 }

/** Answers in turn as it is told; then the test is over. */
function watched(answers: readonly ('answers' | 'silent' | 'busy')[]) {
  const asked = Promise.withResolvers<void>()
  const over = Promise.withResolvers<never>()
  const seen: string[] = []
  let calls = 0
  let next = 0
  const shared: Pick<SharedServer, 'check' | 'counts' | 'ended' | 'isOver'> = {
    ended: over.promise,
    isOver: false,
    get counts() {
      return { clients: 0, calls, asks: 0, subscriptions: 0 }
    },
    async check() {
      if (next > 0) seen.push(health.state)
      const answer = answers[next]
      next += 1
      calls = answer === 'busy' ? 1 : 0
      if (answer === undefined) {
        asked.resolve()
        return over.promise
      }
      if (answer !== 'answers') throw new Error('no answer in time')
      return undefined
    },
  }
  const health = watchHealth({ shared, clock: () => next, rules, onSilent: () => asked.reject(new Error('given up')) })
  return { asked: asked.promise, seen, health }
}

test('one that answers, or has a call to do, is asked on', async () => {
  const { asked, seen, health } = watched(['answers', 'busy', 'busy', 'busy', 'busy', 'silent', 'silent', 'answers', 'silent', 'silent'])
  expect(health).toEqual({ state: 'answering', checkedAt: 0 })
  await asked
  expect(seen).toEqual(['answering', 'busy', 'busy', 'busy', 'busy', 'silent', 'silent', 'answering', 'silent', 'silent'])
  expect(health).toEqual({ state: 'silent', checkedAt: 10 })
})

test('one that says nothing to three questions while nobody waits for it is given up', async () => {
  const { asked, seen } = watched(['answers', 'silent', 'silent', 'silent'])
  await expect(asked).rejects.toThrow('given up')
  expect(seen).toEqual(['answering', 'silent', 'silent'])
})
