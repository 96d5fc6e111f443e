/** Messages, and what is none. */
import { describe, expect, test } from 'vitest'
import { answerText, messagesOf } from './message.ts'

describe('a message', () => {
  test('keeps the digits of an integer that no number holds', () => {
    const [message] = messagesOf(
      '{"jsonrpc":"2.0","id":1,"result":{"n":12345678901234567890,"f":0.1234567890123456789,"s":"12345678901234567890"}}',
    )
    expect(message?.kind === 'answer' && answerText(message.id, message.reply)).toBe(
      '{"jsonrpc":"2.0","id":1,"result":{"n":12345678901234567890,"f":0.12345678901234568,"s":"12345678901234567890"}}',
    )
  })

  test('may be one of several in a line, and a line is all messages or none', () => {
    expect(messagesOf('[{"method":"a"},{"method":"b","id":"x","params":{}}]')).toMatchObject([
      { kind: 'notification' },
      { kind: 'request' },
    ])
    for (const line of [
      '',
      'hello',
      '1',
      'null',
      '{}',
      '{"method":1}',
      '{"id":1,"result":1}',
      '{"id":{},"method":"a"}',
      '{"method":"a","params":[]}',
      '[{"method":"a"},1]',
    ])
      expect(messagesOf(line), line).toEqual([])
  })
})
