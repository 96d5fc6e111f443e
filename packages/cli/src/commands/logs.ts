/** `holdfast logs`: what a command or a process printed, as far as it is kept, and what it prints from now on. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Command } from 'commander'
import type { Execution, Session } from '@holdfast/sdk'
import { openClient } from '../client.ts'
import { note } from '../failure.ts'
import { findExecution, isExecutionId } from '../find-execution.ts'
import { findSession } from '../find-session.ts'
import { pastTime, wholeNumber } from '../flags/parse.ts'
import { withServer } from '../flags/server-flags.ts'
import type { ServerFlags } from '../flags/server-flags.ts'
import { takeSession, withSession } from '../flags/session-flags.ts'
import type { SessionFlags } from '../flags/session-flags.ts'
import { interruption } from '../interruption.ts'
import { lastLines } from '../output/last-lines.ts'
import type { OutputPiece } from '../output/last-lines.ts'
import { write } from '../output/print.ts'
import { isRecord, plainRead } from '../plain-read.ts'

/** Between looks for a start that is due. */
const LOOK_EVERY_MS = 200

interface LogsFlags extends ServerFlags, SessionFlags {
  readonly follow?: true
  readonly after: number
  readonly tail?: number
  readonly since?: number
  readonly timestamps?: true
}

export function addLogs(program: Command): void {
  const logs = program
    .command('logs')
    .description('print what a command or a process printed, as far as it is kept (at least the last MiB)')
    .argument('<names...>', 'the session, then the execution’s id or the process’s name')
    .usage('[options] <session> <execution|process>')
    .option('-f, --follow', 'go on with what it prints, until it ends; of a process, also through its restarts')
    .option('--after <bytes>', 'only what it printed after so many bytes', wholeNumber(0, Number.MAX_SAFE_INTEGER), 0)
    .option('--tail <lines>', 'only its last lines, of both streams together', wholeNumber(0, 1_000_000))
    .option('--since <time>', 'only what the server received since then: a time span such as 10m, or 2026-01-31T12:00:00Z', pastTime)
    .option('-t, --timestamps', 'put the time at which the server received it, to a tenth of a second, before each line')
    .addHelpText(
      'after',
      `
Examples:
  holdfast logs demo exe_4k2m…
  holdfast logs -f -t --tail 20 demo web
  holdfast logs --since 10m demo web
  holdfast logs -f demo web
  holdfast logs -f --scope chat --var launcher_type=group --var launcher_id=123456 web

Its stdout goes to stdout and its stderr to stderr, byte for byte.`,
    )
  withServer(withSession(logs)).action(async (names: readonly string[], flags: LogsFlags) => {
    const { name, rest } = takeSession(names, flags, ['execution'])
    const session = await findSession(await openClient(flags), name)
    const named = rest[0] ?? ''
    const execution = await findExecution(session, named)
    const show = flags.timestamps === true ? stampedWriter() : showPiece
    const isPast = flags.follow !== true || flags.tail !== undefined || flags.since !== undefined
    const seen = isPast ? await printKept(execution, flags, show) : flags.after
    if (flags.follow !== true) return
    await withInterruption(isExecutionId(named) ? follow(execution, seen, show) : followName(session, named, execution, seen, show))
  })
}

type Following = (signal: AbortSignal) => Promise<void>

interface TimedPiece extends OutputPiece {
  readonly at: string
}

type Show = (piece: TimedPiece) => Promise<void>

const showPiece = ({ channel, bytes }: OutputPiece) => write(bytes, channel === 'stdout' ? process.stdout : process.stderr)

/** Each line with the time of its first byte. */
function stampedWriter(): Show {
  const isNew = { stdout: true, stderr: true }
  return async ({ channel, bytes, at }) => {
    const stamp = `${at} `
    const text = Buffer.from(bytes).toString('latin1')
    const stamped = `${isNew[channel] ? stamp : ''}${text.replaceAll(/\n(?=[^])/g, `\n${stamp}`)}`
    isNew[channel] = text.endsWith('\n')
    await showPiece({ channel, bytes: Buffer.from(stamped, 'latin1') })
  }
}

function follow(execution: Execution, after: number, show: Show): Following {
  return async (signal) => {
    for await (const event of execution.output({ after, signal })) {
      if (event.type === 'gap') tellGap(event.skippedBytes)
      else if (event.type !== 'exit') await show({ channel: event.type, bytes: event.bytes, at: event.at })
    }
  }
}

/** Through all that is started again under its name. */
function followName(session: Session, name: string, first: Execution, after: number, show: Show): Following {
  return async (signal) => {
    for (let next: Execution | null = first; next !== null; next = await restarted(session, name, next, signal))
      await follow(next, next === first ? after : 0, show)(signal)
  }
}

/** `null`: it is not started again. */
async function restarted(session: Session, name: string, before: Execution, signal: AbortSignal): Promise<Execution | null> {
  for (;;) {
    const { executionId, execution, nextStartAt } = await session.processes.get(name, { signal })
    if (executionId !== before.id) return execution
    if (nextStartAt === null) return null
    await delay(Math.max(LOOK_EVERY_MS, Date.parse(nextStartAt) - Date.now()), undefined, { signal })
  }
}

async function withInterruption(following: Following): Promise<void> {
  const stop = interruption()
  try {
    await following(stop.signal)
  } catch (error) {
    stop.settle(error)
  } finally {
    stop.end()
  }
}

/** Up to what was printed when it was asked for; a program that prints on and on is not waited for. The place after it. */
async function printKept({ sessionId, id }: Execution, flags: LogsFlags, show: Show): Promise<number> {
  const held: TimedPiece[] = []
  const take: Show = flags.tail === undefined ? show : async (piece) => void held.push(piece)
  let after = flags.after
  let last: number | null = null
  do {
    const path = `/v1/sessions/${sessionId}/executions/${id}/output`
    const page = await plainRead(flags, path, { after, encoding: 'base64' })
    if (numberOf(page['skipped_bytes']) > 0) tellGap(numberOf(page['skipped_bytes']))
    for (const piece of Array.isArray(page['items']) ? page['items'].filter(isRecord) : []) {
      const at = textOf(piece['at'])
      if (flags.since !== undefined && Date.parse(at) < flags.since) continue
      await take({ channel: piece['channel'] === 'stderr' ? 'stderr' : 'stdout', bytes: Buffer.from(textOf(piece['data']), 'base64'), at })
    }
    last ??= numberOf(page['end_seq'])
    if (numberOf(page['seq']) <= after) break
    after = numberOf(page['seq'])
  } while (after < last)
  // What is kept has a bound, so it can be held.
  for (const piece of lastLines(held, flags.tail ?? 0)) await show(piece)
  return after
}

export function tellGap(skippedBytes: number): void {
  note(`${skippedBytes} bytes of its output are not kept any more`)
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : 0
}
