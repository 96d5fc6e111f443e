/** `holdfast ps`: what runs in a session. */
import type { Command } from 'commander'
import type { ExecutionRecord, Process, ProcessRecord, Session } from '@holdfast/sdk'
import { openClient } from '../client.ts'
import { note } from '../failure.ts'
import { findSession } from '../find-session.ts'
import { withLimit, withOutput } from '../flags/output-flags.ts'
import type { LimitFlags } from '../flags/output-flags.ts'
import { withServer } from '../flags/server-flags.ts'
import type { ServerFlags } from '../flags/server-flags.ts'
import { namedSession, withSession } from '../flags/session-flags.ts'
import type { SessionFlags } from '../flags/session-flags.ts'
import { printList } from '../output/print.ts'
import type { OutputFlags } from '../output/print.ts'
import type { Column } from '../output/table.ts'
import { durationWords, momentWords, sizeWords } from '../output/words.ts'

interface PsFlags extends ServerFlags, OutputFlags, SessionFlags, LimitFlags {
  readonly all?: true
  readonly processes?: true
}

export function addPs(program: Command): void {
  const ps = program
    .command('ps')
    .description('list the commands and processes of a session, newest first')
    .argument('[session]', 'its id or key')
    .option('-a, --all', 'those that have ended too')
    .option('-p, --processes', 'the newest process of each name, with its restarts and who is attached to it')
    .addHelpText(
      'after',
      `
Examples:
  holdfast ps demo
  holdfast ps -a demo -n 20
  holdfast ps -p demo
  holdfast ps -q demo | xargs -n1 holdfast kill demo`,
    )
  withServer(withOutput(withSession(withLimit(ps)))).action(async (argument: string | undefined, flags: PsFlags) => {
    const name = namedSession(argument, flags)
    const session = await findSession(await openClient(flags), name)
    if (flags.processes === true) return printProcesses(session, flags)
    const found = flags.all === true ? await newest(session, flags.limit + 1) : await running(session, flags.limit + 1)
    await printList(found.slice(0, flags.limit), { columns: columns(Date.now()), idOf: ({ id }) => id }, flags)
    if (found.length > flags.limit) note(`there are more than ${flags.limit}; --limit shows more`)
  })
}

async function newest(session: Session, count: number): Promise<readonly ExecutionRecord[]> {
  return session.commands.list({ pageSize: Math.min(200, count) }).take(count)
}

/** The session says how many run, so the list of those that have ended need not be read to its end. */
async function running(session: Session, count: number): Promise<readonly ExecutionRecord[]> {
  const found: ExecutionRecord[] = []
  const wanted = Math.min(count, session.record.running)
  if (wanted === 0) return found
  for await (const execution of session.commands.list({ pageSize: 200 })) {
    if (execution.status === 'running') found.push(execution)
    if (found.length >= wanted) break
  }
  return found
}

async function printProcesses(session: Session, flags: PsFlags): Promise<void> {
  const found = (await session.processes.list()).filter(
    ({ status, nextStartAt }) => flags.all === true || status === 'running' || nextStartAt !== null,
  )
  const records = found.slice(0, flags.limit).map(recordOf)
  await printList(records, { columns: processColumns(Date.now()), idOf: ({ name }) => name }, flags)
  if (found.length > flags.limit) note(`there are more than ${flags.limit}; --limit shows more`)
}

function recordOf({ execution: _execution, stop: _stop, attach: _attach, stderrTail: _tail, ...record }: Process): ListedProcess {
  return record
}

type ListedProcess = Omit<ProcessRecord, 'stderrTail'>

function processColumns(now: number): readonly Column<ListedProcess>[] {
  return [
    { title: 'NAME', of: ({ name }) => name, isFlexible: true },
    {
      title: 'STATUS',
      of: statusWords,
      tint: ({ status, exitCode }) => (status === 'running' ? 'green' : exitCode === 0 ? 'none' : 'red'),
    },
    { title: 'RESTART', of: ({ restart }) => restartWords(restart) },
    { title: 'RESTARTS', of: ({ restarts }) => String(restarts) },
    { title: 'NEXT', of: ({ nextStartAt }) => (nextStartAt === null ? '-' : momentWords(nextStartAt, now)) },
    { title: 'ATTACHED', of: ({ attached }) => String(attached) },
    { title: 'STARTED', of: ({ startedAt }) => momentWords(startedAt, now) },
    { title: 'EXECUTION', of: ({ executionId }) => executionId },
  ]
}

function restartWords(restart: ProcessRecord['restart']): string {
  if (restart === null) return 'no'
  return restart.maxRestarts === null ? restart.policy : `${restart.policy}:${restart.maxRestarts}`
}

function columns(now: number): readonly Column<ExecutionRecord>[] {
  return [
    { title: 'ID', of: ({ id }) => id },
    { title: 'NAME', of: ({ name }) => name ?? '-', isFlexible: true },
    {
      title: 'STATUS',
      of: statusWords,
      tint: ({ status, exitCode }) => (status === 'running' ? 'green' : exitCode === 0 ? 'none' : 'red'),
    },
    { title: 'STARTED', of: ({ startedAt }) => momentWords(startedAt, now) },
    { title: 'TOOK', of: ({ durationMs }) => (durationMs === null ? '-' : durationWords(durationMs)) },
    { title: 'PRINTED', of: ({ status, outputSeq }) => (status === 'running' ? '-' : sizeWords(outputSeq)) },
    { title: 'BY', of: ({ actor }) => actor, isFlexible: true },
  ]
}

function statusWords({ status, exitCode, signal }: Pick<ExecutionRecord, 'status' | 'exitCode' | 'signal'>): string {
  if (status !== 'completed') return status.replaceAll('_', ' ')
  return exitCode === null ? `killed by ${signal ?? 'something'}` : `exited with ${exitCode}`
}
