/**
 * Reading a file as a stream, at the reader's pace: what is not read stays in the applet's pipe.
 *
 * ingress → access → policy → sessions → sandboxes → [guest] → result
 */
import { Readable } from 'node:stream'
import { openApplet } from './applet.ts'
import type { Channel } from './channel.ts'
import type { Files } from './inside.ts'
import { requireAbsolute, requireWhole } from './require.ts'

const READ_AHEAD_BYTES = 262_144

export function readFile(channel: Channel, path: string, options: Parameters<Files['read']>[1] = {}): Promise<Readable> {
  return new Promise((resolve, reject) => {
    requireAbsolute('path', path)
    const { offset = 0, length, user, uid, signal } = options
    requireWhole('offset', offset)
    if (length !== undefined) requireWhole('length', length)
    signal?.throwIfAborted()
    const run = openApplet(channel, { argv: ['read', path, `${offset}`, `${length ?? -1}`], path, user, uid })
    const { stream } = run
    const readable = new Readable({
      highWaterMark: READ_AHEAD_BYTES,
      read: () => stream.output.resume(),
      destroy(error, done) {
        signal?.removeEventListener('abort', abort)
        stream.detach()
        done(error)
      },
    })
    const abort = (): void => {
      reject(signal?.reason)
      readable.destroy(signal?.reason instanceof Error ? signal.reason : undefined)
    }
    signal?.addEventListener('abort', abort, { once: true })
    // A failure between here and the caller's first listener must not be an uncaught one; the stream stays errored for him.
    readable.on('error', () => undefined)
    stream.output.consume({
      keepsBytes: true,
      chunk(outputChannel, bytes) {
        if (outputChannel === 2) {
          run.hear(bytes)
          return true
        }
        resolve(readable)
        return readable.push(bytes)
      },
      finished() {
        const failure = run.failure()
        if (failure) {
          reject(failure)
          readable.destroy(failure)
          return
        }
        signal?.removeEventListener('abort', abort)
        resolve(readable)
        readable.push(null)
      },
    })
  })
}
