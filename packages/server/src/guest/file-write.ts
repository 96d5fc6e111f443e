/**
 * Writing a file from a stream of any length. Leaving the stream before its end aborts the applet, which leaves the old content and
 * nothing else: whoever hears of the failure can count on it.
 *
 * ingress → access → policy → sessions → sandboxes → [guest] → result
 */
import { HoldfastError } from '@holdfast/protocol'
import { APPLET_GRACE_MS, openApplet } from './applet.ts'
import type { AppletRun } from './applet.ts'
import type { Channel } from './channel.ts'
import type { Files } from './inside.ts'
import { modeText } from './mode-text.ts'
import { killExecution } from './orders.ts'
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
  const abort = (): void => aborted.reject(signal?.reason)
  signal?.addEventListener('abort', abort, { once: true })
  try {
    await Promise.race([send(run, outcome, content), aborted.promise])
  } catch (error) {
    await endApplet(channel, run)
    throw error
  } finally {
    signal?.removeEventListener('abort', abort)
  }
}

/** Ended while it writes, it removes what it has begun; only then is it left. */
async function endApplet(channel: Channel, { stream }: AppletRun): Promise<void> {
  // Decision: one that ended by itself, or with its sandbox, has nothing left to remove.
  if (stream.id !== 0n && stream.exit === null && stream.error === null)
    await killExecution(channel, { id: stream.id }, APPLET_GRACE_MS).catch(() => undefined)
  stream.detach()
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
  // One that has failed needs no more of its content, which may be long in coming.
  const isSent = await Promise.race([sendContent(run, content), outcome.then(() => false)])
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
