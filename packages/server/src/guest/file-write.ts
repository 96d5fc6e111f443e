/**
 * Writing a file from a stream of any length. Leaving the stream before its end aborts the applet, which leaves the old content.
 *
 * ingress → access → policy → sessions → sandboxes → [guest] → result
 */
import { HoldfastError } from '@holdfast/protocol'
import { openApplet } from './applet.ts'
import type { AppletRun } from './applet.ts'
import type { Channel } from './channel.ts'
import type { Files } from './inside.ts'
import { modeText } from './mode-text.ts'
import { requireAbsolute } from './require.ts'

type Content = Parameters<Files['write']>[1]
type WriteOptions = NonNullable<Parameters<Files['write']>[2]>

export async function writeFile(channel: Channel, path: string, content: Content, options: WriteOptions = {}): Promise<void> {
  requireAbsolute('path', path)
  const { append, parents, exclusive, mode, user, uid, signal } = options
  signal?.throwIfAborted()
  const flags = `${append ? 'a' : ''}${parents ? 'p' : ''}${exclusive ? 'x' : ''}`
  const run = openApplet(channel, { argv: ['write', path, mode === undefined ? '-' : modeText(mode), flags], path, stdin: true, user, uid })
  const outcome = appletOutcome(run)
  const aborted = Promise.withResolvers<never>()
  const abort = (): void => {
    aborted.reject(signal?.reason)
    run.stream.detach()
  }
  signal?.addEventListener('abort', abort, { once: true })
  try {
    await Promise.race([send(run, outcome, content), aborted.promise])
  } catch (error) {
    run.stream.detach()
    throw error
  } finally {
    signal?.removeEventListener('abort', abort)
  }
}

/** Resolves, never rejects, with what went wrong. */
function appletOutcome(run: AppletRun): Promise<HoldfastError | null> {
  return new Promise((resolve) => {
    run.stream.output.consume({
      keepsBytes: false,
      chunk(outputChannel, bytes) {
        if (outputChannel === 2) run.hear(bytes)
        return true
      },
      finished: () => resolve(run.failure()),
    })
  })
}

async function send(run: AppletRun, outcome: Promise<HoldfastError | null>, content: Content): Promise<void> {
  const isSent = await sendContent(run, content)
  if (isSent) run.stream.input.end()
  const failure = await outcome
  if (failure) throw failure
  if (!isSent) throw new HoldfastError('file_operation_failed', 'the write ended before its content did (EPIPE)', { errno: 'EPIPE' })
}

/** False when the applet ended first; why, its outcome tells. */
async function sendContent(run: AppletRun, content: Content): Promise<boolean> {
  if (typeof content === 'string') return sendPiece(run, Buffer.from(content))
  if (content instanceof Uint8Array) return sendPiece(run, content)
  for await (const piece of content) {
    if (!(await sendPiece(run, piece))) return false
  }
  return true
}

function sendPiece(run: AppletRun, piece: Uint8Array): Promise<boolean> {
  return new Promise((resolve) => run.stream.input.write(piece, (error) => resolve(error === null)))
}
