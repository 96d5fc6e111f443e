/**
 * Applets: the guest's own binary run as the sandbox's user, one ephemeral execution per file operation.
 *
 * ingress → access → policy → sessions → sandboxes → [guest] → result
 *
 * An applet exits with 0, or with an errno and one sentence on stderr.
 */
import { HoldfastError } from '@holdfast/protocol'
import type { Channel } from './channel.ts'
import { FrameType } from './codec.ts'
import { errnoName } from './errnos.ts'
import { openExecution } from './exec.ts'
import { addArguments } from './exec-request.ts'
import type { ExecutionStream, OnStarted } from './execution-stream.ts'
import { Tag } from './fields.ts'
import type { Field } from './fields.ts'
import { guestText } from './guest-text.ts'
import { requireNoNul, requireUid } from './require.ts'

const MAX_MESSAGE_BYTES = 4_096
/** For an applet that is left, to remove what it had begun. */
export const APPLET_GRACE_MS = 2_000
/** For applets that nobody can abort. */
const QUICK_TIMEOUT_MS = 300_000

export interface Applet {
  readonly argv: readonly [name: string, ...arguments: string[]]
  /** What it works on, for the error. */
  readonly path: string
  readonly stdin?: boolean
  readonly user?: string | undefined
  readonly uid?: number | undefined
  readonly timeoutMs?: number
}

/** The execution of one applet, with what it said on stderr. */
export interface AppletRun {
  readonly stream: ExecutionStream
  hear(stderr: Buffer): void
  /** Once the stream is settled: `null` when the applet did its work. */
  failure(): HoldfastError | null
}

export function openApplet(channel: Channel, applet: Applet, onStarted: OnStarted = () => undefined): AppletRun {
  const stream = openExecution(
    channel,
    { type: FrameType.EXEC, fields: appletFields(applet, channel), after: 0, refusal: 'command_not_started' },
    onStarted,
  )
  let message = ''
  return {
    stream,
    hear(stderr) {
      if (message.length < MAX_MESSAGE_BYTES) message += stderr.toString('utf8', 0, MAX_MESSAGE_BYTES)
    },
    failure: () => appletFailure(applet, stream, guestText(message)),
  }
}

function appletFields(applet: Applet, channel: Channel): Field[] {
  const fields: Field[] = []
  addArguments(fields, applet.argv)
  fields.push([Tag.SELF, 1], [Tag.EPHEMERAL, 1], [Tag.CWD, '/'], [Tag.WINDOW, channel.windowBytes], [Tag.GRACE_MS, APPLET_GRACE_MS])
  if (applet.stdin) fields.push([Tag.STDIN, 1])
  if (applet.timeoutMs !== undefined) fields.push([Tag.TIMEOUT_MS, applet.timeoutMs])
  if (applet.user !== undefined) {
    requireNoNul('user', applet.user)
    fields.push([Tag.USER, applet.user])
  }
  if (applet.uid !== undefined) {
    requireUid(applet.uid)
    fields.push([Tag.UID, applet.uid])
  }
  return fields
}

function appletFailure({ argv, path }: Applet, stream: ExecutionStream, message: string): HoldfastError | null {
  if (stream.error) return stream.error
  if (!stream.exit || stream.exit.exitCode === 0) return null
  const { exitCode, signal, timedOut } = stream.exit
  const errno = timedOut ? 'ETIMEDOUT' : exitCode === null ? 'EINTR' : errnoName(exitCode)
  const fallback = signal === null ? `${argv[0]} failed` : `${argv[0]} was killed by ${signal}`
  return new HoldfastError('file_operation_failed', `${message || fallback} (${errno})`, { errno, path })
}

/** Runs an applet to its end; `onOutput` may throw to end it early. */
export function runApplet(channel: Channel, applet: Applet, onOutput: (bytes: Buffer) => void = () => undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const run = openApplet(channel, { timeoutMs: QUICK_TIMEOUT_MS, ...applet })
    run.stream.output.consume({
      keepsBytes: false,
      chunk(outputChannel, bytes) {
        if (outputChannel === 2) run.hear(bytes)
        else
          try {
            onOutput(bytes)
          } catch (error) {
            reject(error)
            run.stream.detach()
          }
        return true
      },
      finished() {
        const failure = run.failure()
        if (failure) reject(failure)
        else resolve()
      },
    })
  })
}
