/**
 * Questions to the guest that it answers by itself: any number of REPLY frames up to a bound, then END.
 *
 * ingress → access → policy → sessions → sandboxes → [guest] → result
 */
import type { HoldfastError } from '@holdfast/protocol'
import type { Channel } from './channel.ts'
import { frameName, FrameType } from './codec.ts'
import { endError } from './end-error.ts'
import type { Field, Fields } from './fields.ts'
import { violated } from './violation.ts'

export interface Question {
  readonly type: typeof FrameType.SIGNAL | typeof FrameType.KILL | typeof FrameType.RESIZE | typeof FrameType.LIST
  readonly fields: readonly Field[]
  readonly maxReplies: number
  /** Beyond the channel's own time for an answer. */
  readonly extraTimeMs?: number
  readonly onReply?: (fields: Fields) => void
}

export function ask(channel: Channel, question: Question): Promise<void> {
  return new Promise((resolve, reject) => {
    channel.open(question.type, question.fields, () => {
      const name = frameName(question.type)
      const deadline = channel.expect(name, channel.answerTimeoutMs + (question.extraTimeMs ?? 0))
      let replies = 0
      return {
        control(type: number, fields: Fields): void {
          if (type === FrameType.END) {
            clearTimeout(deadline)
            const error = endError(fields, 'invalid_request')
            if (error) reject(error)
            else resolve()
            return
          }
          replies += 1
          if (type !== FrameType.REPLY || replies > question.maxReplies) throw violated(`${frameName(type)} ${replies} answers ${name}`)
          question.onReply?.(fields)
        },
        data(): void {
          throw violated(`DATA answers ${name}`)
        },
        lost(error: HoldfastError): void {
          clearTimeout(deadline)
          reject(error)
        },
      }
    })
  })
}
