/**
 * `tar` as a program inside the sandbox, and its verdict.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Archives are made and unpacked where the files are, as whoever the session is there. Whatever an archive holds, and whatever the
 * sandbox has put in the place of tar, it can only hurt its own sandbox; here it is bytes. Only options are used that GNU tar and
 * busybox both have.
 */
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import type { ExecExit, Execution } from '../../guest/inside.ts'
import { guestText } from '../../guest/guest-text.ts'
import type { Place } from '../insides.ts'
import { failedWith } from './file-errors.ts'

const MAX_LINE_BYTES = 4_096

/** Lines that say nothing of what went wrong. */
const EMPTY_WORDS = /Exiting with failure status|Error is not recoverable|Child returned status|Skipping to next header|error exit delayed/
/** A file that changes while it is packed has the length of the moment when it was looked at, as any other that is read. */
const HARMLESS = /: (?:file changed as we read it|File removed before we read it)$/
const GNU_DIFFERS = 1
const REASONS: readonly (readonly [RegExp, string])[] = [
  [/No space left on device/, 'ENOSPC'],
  [/Disk quota exceeded/, 'EDQUOT'],
  [/Read-only file system/, 'EROFS'],
  [/Permission denied/, 'EACCES'],
  [/Operation not permitted/, 'EPERM'],
]

export interface Tar {
  readonly execution: Execution
  /** What it says on stderr. */
  hear(bytes: Uint8Array): void
  /** `null` when it did its work. */
  failure(exit: ExecExit): HoldfastError | null
}

/** Dies with its connection or when it is left. Throws `capability_unsupported` where there is no tar. */
export async function startTar(place: Place, options: readonly string[], stdin: 'none' | 'pipe', signal: AbortSignal): Promise<Tar> {
  const { inside, inhabitant } = place
  const as = inhabitant === null ? {} : { uid: inhabitant.uid, home: inhabitant.home }
  const request = { ...as, argv: ['tar', ...options], cwd: '/', stdin, ephemeral: true, env: { LC_ALL: 'C.UTF-8' } }
  const execution = await inside.exec(request, signal).catch((error: unknown) => Promise.reject(unlessMissing(error)))
  let [last, partial] = ['', '']
  let isHarmless = true
  /** Lines are judged as they come, for only the last is kept. */
  const judge = (line: string) => {
    if (line.trim() === '' || EMPTY_WORDS.test(line)) return
    last = line.slice(-MAX_LINE_BYTES)
    isHarmless &&= HARMLESS.test(line)
  }
  return {
    execution,
    hear(bytes) {
      const lines = (partial + Buffer.from(bytes).toString('latin1')).split('\n')
      partial = (lines.pop() ?? '').slice(-MAX_LINE_BYTES)
      for (const line of lines) judge(line)
    },
    failure(exit) {
      judge(partial)
      if (exit.exitCode === 0 || (exit.exitCode === GNU_DIFFERS && last !== '' && isHarmless)) return null
      return tarError(exit, Buffer.from(last, 'latin1').toString('utf8'))
    },
  }
}

function tarError({ exitCode, signal }: ExecExit, last: string): HoldfastError {
  const message = guestText(last)
  const how = signal === null ? `tar ended with ${exitCode}` : `tar was killed by ${signal}`
  const errno = REASONS.find(([words]) => words.test(last))?.[1] ?? 'EIO'
  return failedWith(errno, message === '' ? how : `${how}: ${message}`, { program: 'tar', exit_code: exitCode, message })
}

function unlessMissing(error: unknown): unknown {
  if (!isHoldfastError(error, 'command_not_started') || error.details['errno'] !== 'ENOENT') return error
  return new HoldfastError('capability_unsupported', 'this sandbox has no tar, which archives need', { program: 'tar' }, { cause: error })
}
