/** `holdfast sessions …`: look at sessions, make them, and steer their lives. */
import { Option } from 'commander'
import type { Command } from 'commander'
import type { Session, SessionRecord, SessionState } from '@holdfast/sdk'
import { openClient } from '../client.ts'
import { note } from '../failure.ts'
import { findSession, OPEN_STATES } from '../find-session.ts'
import { withLimit, withOutput } from '../flags/output-flags.ts'
import type { LimitFlags } from '../flags/output-flags.ts'
import { assignment, duration, repeated, wholeNumber } from '../flags/parse.ts'
import { withServer } from '../flags/server-flags.ts'
import type { ServerFlags } from '../flags/server-flags.ts'
import { isNamedByFlags, namedSession, withSession, wrongUse } from '../flags/session-flags.ts'
import type { SessionFlags } from '../flags/session-flags.ts'
import { withSandboxWish, withTimes } from '../flags/wish-flags.ts'
import type { SandboxWishFlags, TimesFlags } from '../flags/wish-flags.ts'
import { sandboxWish, timesWish } from '../flags/wish-flags.ts'
import { printList, printOne } from '../output/print.ts'
import type { OutputFlags } from '../output/print.ts'
import { sessionColumns, sessionRows } from '../output/session-table.ts'
import { startSpinner } from '../spinner.ts'

type Flags = ServerFlags & OutputFlags & SessionFlags

const STATES: readonly SessionState[] = [...OPEN_STATES, 'released', 'cancelled', 'expired', 'failed']
const idOf = ({ id }: SessionRecord) => id

export function addSessions(program: Command): void {
  const sessions = program.command('sessions').alias('session').description('look at sessions, make them, and steer their lives')
  addList(sessions)
  addCreate(sessions)
  addGet(sessions)
  addRefresh(sessions)
  addRelease(sessions)
  addSuspend(sessions)
  addPlain(sessions, 'resume', 'ask for a sandbox again', (session) => session.resume())
  addPlain(sessions, 'cancel', 'end it now and kill what runs', (session) => session.cancel())
  addPlain(sessions, 'unhold', 'let it go that an operator held', (session) => session.unhold())
  addResetHome(sessions)
  addHold(sessions)
  addCancelWork(sessions)
  addTransfer(sessions)
  addAcceptTransfer(sessions)
  addPlain(sessions, 'reject-transfer', 'reject a transfer that waits for its owner, or take the request back', (session) =>
    session.rejectTransfer(),
  )
  addLabel(sessions)
  addEvents(sessions)
}

function addList(sessions: Command): void {
  interface ListFlags extends ServerFlags, OutputFlags, LimitFlags {
    readonly all?: true
    readonly state?: readonly SessionState[]
    readonly owner?: string
    readonly key?: string
    readonly sandbox?: string
    readonly label?: Readonly<Record<string, string>>
  }
  const list = sessions
    .command('ls')
    .alias('list')
    .description('list sessions, newest first')
    .option('-a, --all', 'those that have ended too')
    .addOption(new Option('--state <state>', `only in this state: ${STATES.join(', ')}; may be repeated`).argParser(stateOf))
    .option('--owner <subject>', 'only of this owner')
    .option('--key <key>', 'only with this key')
    .option('--sandbox <id>', 'only in this sandbox')
    .option('-l, --label <name=value>', 'only with this label; may be repeated', assignment)
    .addHelpText(
      'after',
      `
Examples:
  holdfast sessions ls
  holdfast sessions ls -a --label team=a -o json
  holdfast sessions ls -q --state idle | xargs -n1 holdfast sessions suspend`,
    )
  withServer(withOutput(withLimit(list))).action(async (flags: ListFlags) => {
    const holdfast = await openClient(flags)
    const state = flags.state ?? (flags.all === true ? undefined : OPEN_STATES)
    const filter = { state, owner: flags.owner, key: flags.key, sandboxId: flags.sandbox, labels: flags.label }
    // One more than shown says whether there are more.
    const found = await holdfast.sessions.list({ ...filter, pageSize: Math.min(200, flags.limit + 1) }).take(flags.limit + 1)
    await printList(found.slice(0, flags.limit), { columns: sessionColumns(Date.now()), idOf }, flags)
    if (found.length > flags.limit) note(`there are more than ${flags.limit}; --limit shows more`)
  })
}

function stateOf(text: string, earlier: readonly SessionState[] | undefined): readonly SessionState[] {
  const found = STATES.find((state) => state === text)
  if (found === undefined) throw wrongUse(`--state ${JSON.stringify(text)} is none; there are ${STATES.join(', ')}`)
  return [...(earlier ?? []), found]
}

function addCreate(sessions: Command): void {
  interface CreateFlags extends Flags, SandboxWishFlags, TimesFlags {
    readonly label?: Readonly<Record<string, string>>
    readonly metadata?: Readonly<Record<string, string>>
    readonly owner?: string
    readonly ownerGroup?: string
    readonly pack?: string
    readonly workspaceOnClose?: 'delete' | 'keep'
    readonly wait: number
  }
  const create = sessions
    .command('create')
    .description('get the open session of a key, or make it; wait until it is ready')
    .argument('[key]', 'your name for the conversation, or use --scope')
    .option('-l, --label <name=value>', 'a label; may be repeated', assignment)
    .option('--metadata <name=value>', 'an entry of its metadata; may be repeated', assignment)
    .option('--owner <subject>', 'whose it is; you unless given')
    .option('--owner-group <name>', 'the group that may use it too')
    .option('--pack <profile>', 'share a sandbox with sessions of the same kind and owner')
    .addOption(new Option('--workspace-on-close <what>', 'what becomes of its files when it ends').choices(['delete', 'keep']))
    .option('--wait <seconds>', 'how long to wait until it is ready', wholeNumber(0, 60), 60)
    .addHelpText(
      'after',
      `
Examples:
  holdfast sessions create my-task --label team=a --idle 30m
  holdfast sessions create --scope chat --var launcher_type=group --var launcher_id=123456`,
    )
  withServer(withOutput(withSession(withTimes(withSandboxWish(create))))).action(async (key: string | undefined, flags: CreateFlags) => {
    const name = namedSession(key, flags)
    if ('id' in name) throw wrongUse(`${name.id} is an id; a new session has a key of yours`)
    const holdfast = await openClient(flags)
    const spinner = startSpinner('making the session ready')
    const session = await holdfast.sessions
      .getOrCreate({
        ...name,
        ...sandboxWish(flags),
        labels: flags.label,
        metadata: flags.metadata,
        owner: flags.owner,
        ownerGroup: flags.ownerGroup,
        pack: flags.pack,
        workspaceOnClose: flags.workspaceOnClose,
        times: timesWish(flags),
        waitMs: flags.wait * 1000,
      })
      .finally(spinner.stop)
    await printSession(session.record, flags)
  })
}

/** A verb on one session. */
function onSession(sessions: Command, name: string, description: string, examples: string): Command {
  const command = sessions.command(name).description(description).argument('[session]', 'its id or key').addHelpText('after', examples)
  return withServer(withOutput(withSession(command)))
}

function addGet(sessions: Command): void {
  onSession(
    sessions,
    'get',
    'look at a session; this keeps nothing alive',
    `
Examples:
  holdfast sessions get my-task
  holdfast sessions get ses_4k2m… -o yaml
  holdfast sessions get --scope chat --var launcher_type=group --var launcher_id=123456`,
  ).action(async (argument: string | undefined, flags: Flags) => printSession((await opened(argument, flags)).record, flags))
}

function addPlain(sessions: Command, name: string, description: string, act: (session: Session) => Promise<SessionRecord>): void {
  onSession(sessions, name, description, `\nExample:\n  holdfast sessions ${name} my-task`).action(
    async (argument: string | undefined, flags: Flags) => printSession(await act(await opened(argument, flags)), flags),
  )
}

function addRefresh(sessions: Command): void {
  onSession(
    sessions,
    'refresh',
    'count as activity, and move the end of its lease',
    `
Examples:
  holdfast sessions refresh my-task
  holdfast sessions refresh my-task --lease 2h`,
  )
    .option('--lease <time>', 'a new length of the lease, such as 30m', duration)
    .option('--allow-shorten', 'even if the lease ends earlier then')
    .action(async (argument: string | undefined, flags: Flags & { readonly lease?: number; readonly allowShorten?: true }) => {
      const session = await opened(argument, flags)
      await printSession(await session.refresh({ leaseSeconds: flags.lease, allowShorten: flags.allowShorten }), flags)
    })
}

function addRelease(sessions: Command): void {
  interface ReleaseFlags extends Flags {
    readonly ifBusy?: 'wait' | 'fail' | 'kill'
    readonly drain?: number
    readonly workspace?: 'delete' | 'keep'
    readonly label?: Readonly<Record<string, string>>
  }
  onSession(
    sessions,
    'release',
    'end it after its work, or all open ones with a label',
    `
Examples:
  holdfast sessions release my-task
  holdfast sessions release my-task --if-busy kill --workspace keep
  holdfast sessions release --label run=42`,
  )
    .addOption(new Option('--if-busy <what>', 'what to do about running work').choices(['wait', 'fail', 'kill']))
    .option('--drain <time>', 'for how long to wait for it, such as 30s', duration)
    .addOption(new Option('--workspace <what>', 'what becomes of its files').choices(['delete', 'keep']))
    .option('-l, --label <name=value>', 'instead of one session: every open one with this label; may be repeated', assignment)
    .action(async (argument: string | undefined, flags: ReleaseFlags) => {
      const { ifBusy, drain: drainSeconds, workspace, label: labels } = flags
      const how = { ifBusy, drainSeconds, workspace }
      if (labels === undefined) return printSession(await (await opened(argument, flags)).release(how), flags)
      if (argument !== undefined || isNamedByFlags(flags)) throw wrongUse('name a session or a label, not both')
      const holdfast = await openClient(flags)
      const released: SessionRecord[] = []
      for await (const { id } of holdfast.sessions.list({ state: OPEN_STATES, labels }))
        released.push(await (await holdfast.sessions.get(id)).release(how))
      await printList(released, { columns: sessionColumns(Date.now()), idOf }, flags)
    })
}

function addResetHome(sessions: Command): void {
  onSession(
    sessions,
    'reset-home',
    'give up its sandbox and empty its home; the workspace stays',
    `\nExamples:\n  holdfast sessions reset-home my-task\n  holdfast sessions reset-home my-task --kill`,
  )
    .option('--kill', 'end what runs first; without it a busy session is refused')
    .action(async (argument: string | undefined, flags: Flags & { readonly kill?: true }) => {
      const session = await opened(argument, flags)
      await printSession(await session.resetHome({ ifBusy: flags.kill === true ? 'kill' : 'fail' }), flags)
    })
}

function addHold(sessions: Command): void {
  onSession(
    sessions,
    'hold',
    'as an operator, keep it from working and from idling out',
    `\nExample:\n  holdfast sessions hold my-task --reason 'under investigation'`,
  )
    .option('--reason <text>', 'why, for those who meet it')
    .action(async (argument: string | undefined, flags: Flags & { readonly reason?: string }) => {
      const session = await opened(argument, flags)
      await printSession(await session.hold({ reason: flags.reason }), flags)
    })
}

function addCancelWork(sessions: Command): void {
  onSession(
    sessions,
    'cancel-work',
    'kill what runs; the session lives on',
    `
Examples:
  holdfast sessions cancel-work my-task
  holdfast sessions cancel-work my-task --processes --grace 5s`,
  )
    .option('--processes', 'named processes too')
    .option('--grace <time>', 'between asking a program to end and killing it', duration)
    .action(async (argument: string | undefined, flags: Flags & { readonly processes?: true; readonly grace?: number }) => {
      const session = await opened(argument, flags)
      const graceMs = flags.grace === undefined ? undefined : flags.grace * 1000
      const killed = await session.cancelWork({ processes: flags.processes, graceMs })
      await printOne(killed, { rows: killedRows, idOf: () => session.id }, flags)
    })
}

function addSuspend(sessions: Command): void {
  interface SuspendFlags extends Flags {
    readonly keepCredentials?: true
    readonly keepRunning?: true
  }
  onSession(
    sessions,
    'suspend',
    'give up its sandbox and keep its workspace; commands that received a credential are ended first',
    `\nExamples:\n  holdfast sessions suspend my-task\n  holdfast sessions suspend my-task --keep-credentials`,
  )
    .option('--keep-credentials', 'its credentials stay for its next sandbox')
    .option('--keep-running', 'refuse instead of ending commands that received a credential')
    .action(async (argument: string | undefined, flags: SuspendFlags) => {
      const session = await opened(argument, flags)
      const { keepCredentials, keepRunning } = flags
      await printSession(await session.suspend({ keepCredentials, keepRunning }), flags)
    })
}

function addTransfer(sessions: Command): void {
  interface TransferFlags extends Flags {
    readonly to: string
    readonly toGroup?: string
    readonly keepRunning?: true
    readonly ifVersion?: number
  }
  onSession(sessions, 'transfer', 'give it to somebody else', `\nExample:\n  holdfast sessions transfer my-task --to bob`)
    .requiredOption('--to <subject>', 'the new owner')
    .option('--to-group <name>', 'the group that may use it too')
    .option('--keep-running', 'do not end commands that received a credential')
    .option('--if-version <number>', 'only if it still has this version', wholeNumber(0, Number.MAX_SAFE_INTEGER))
    .action(async (argument: string | undefined, flags: TransferFlags) => {
      const session = await opened(argument, flags)
      const { to: owner, toGroup: ownerGroup, keepRunning, ifVersion } = flags
      await printSession(await session.transfer({ owner, ownerGroup, keepRunning, ifVersion }), flags)
    })
}

function addAcceptTransfer(sessions: Command): void {
  interface AcceptFlags extends Flags {
    readonly to: string
    readonly toGroup?: string
    readonly keepRunning?: true
  }
  onSession(
    sessions,
    'accept-transfer',
    'as its owner: accept that an administrator gives it to somebody else',
    `\nExample:\n  holdfast sessions accept-transfer my-task --to bob`,
  )
    .requiredOption('--to <subject>', 'the new owner, as the request names it')
    .option('--to-group <name>', 'the group, as the request names it')
    .option('--keep-running', 'do not end commands that received a credential')
    .action(async (argument: string | undefined, flags: AcceptFlags) => {
      const session = await opened(argument, flags)
      const { to: owner, toGroup: ownerGroup, keepRunning } = flags
      await printSession(await session.acceptTransfer({ owner, ownerGroup, keepRunning }), flags)
    })
}

function addLabel(sessions: Command): void {
  interface LabelFlags extends Flags {
    readonly set?: Readonly<Record<string, string>>
    readonly remove?: readonly string[]
    readonly clear?: true
  }
  onSession(
    sessions,
    'label',
    'change its labels',
    `
Examples:
  holdfast sessions label my-task --set team=a --set stage=test
  holdfast sessions label my-task --remove stage`,
  )
    .option('--set <name=value>', 'add or change a label; may be repeated', assignment)
    .option('--remove <name>', 'take a label away; may be repeated', repeated)
    .option('--clear', 'take all others away')
    .action(async (argument: string | undefined, flags: LabelFlags) => {
      if (flags.set === undefined && flags.remove === undefined && flags.clear === undefined)
        throw wrongUse('say what to change: --set name=value, --remove name or --clear')
      const session = await opened(argument, flags)
      const { version, labels } = session.record
      const kept = Object.entries(flags.clear === true ? {} : labels).filter(([name]) => flags.remove?.includes(name) !== true)
      // The version keeps a change that somebody else made meanwhile from being undone.
      await printSession(await session.update({ labels: { ...Object.fromEntries(kept), ...flags.set }, ifVersion: version }), flags)
    })
}

function addEvents(sessions: Command): void {
  onSession(
    sessions,
    'events',
    'what happened to it',
    `
Examples:
  holdfast sessions events my-task
  holdfast sessions events -f my-task -o json`,
  )
    .option('-f, --follow', 'go on with those to come')
    .option('--after <seq>', 'only those after this number', wholeNumber(0, Number.MAX_SAFE_INTEGER), 0)
    .action(async (argument: string | undefined, flags: Flags & { readonly follow?: true; readonly after: number }) => {
      const session = await opened(argument, flags)
      const { printSessionEvents } = await import('../event-printing.ts')
      await printSessionEvents(session, flags)
    })
}

async function opened(argument: string | undefined, flags: Flags): Promise<Session> {
  const name = namedSession(argument, flags)
  return findSession(await openClient(flags), name)
}

function printSession(record: SessionRecord, flags: OutputFlags): Promise<void> {
  return printOne(record, { rows: (shown) => sessionRows(shown, Date.now()), idOf }, flags)
}

export function killedRows({ executions, killed, verified }: { executions: number; killed: number; verified: boolean }) {
  return [
    ['executions', String(executions)],
    ['processes killed', String(killed)],
    ['verified', verified ? 'nothing of it runs any more' : 'not proved'],
  ] as const
}
