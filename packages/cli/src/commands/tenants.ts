/** `holdfast tenants …`: for a platform administrator. */
import type { Command } from 'commander'
import type { TenantPolicy, TenantQuotas, TenantRecord } from '@holdfast/sdk'
import { openClient } from '../client.ts'
import { note } from '../failure.ts'
import { withLimit, withOutput } from '../flags/output-flags.ts'
import type { LimitFlags } from '../flags/output-flags.ts'
import { duration, orNull, repeated, wholeNumberOrNone } from '../flags/parse.ts'
import type { OrNone } from '../flags/parse.ts'
import { withServer } from '../flags/server-flags.ts'
import type { ServerFlags } from '../flags/server-flags.ts'
import { printList, printOne } from '../output/print.ts'
import type { OutputFlags } from '../output/print.ts'
import type { Column } from '../output/table.ts'
import { durationWords, momentWords } from '../output/words.ts'

type Flags = ServerFlags & OutputFlags

interface QuotaFlags {
  readonly openSessions?: OrNone
  readonly openSessionsPerOwner?: OrNone
  readonly computeSessions?: OrNone
  readonly computeSessionsPerOwner?: OrNone
  readonly profiles?: OrNone
  readonly pipelines?: OrNone
  readonly keptOutputBytes?: OrNone
  readonly keptEvents?: OrNone
  readonly keptAnswerBytes?: OrNone
}

interface PolicyFlags {
  readonly adminExec?: true
  readonly packing?: readonly string[]
  readonly maxIdle?: number
  readonly maxLease?: number
  readonly maxLifetime?: number
  readonly maxRetention?: number
}

const idOf = ({ id }: TenantRecord) => id

export function addTenants(program: Command): void {
  const tenants = program.command('tenants').alias('tenant').description('tenants, for a platform administrator')
  addList(tenants)
  addCreate(tenants)
  addGet(tenants)
  addSetPolicy(tenants)
  addSetQuotas(tenants)
  addTerminate(tenants)
}

function addList(tenants: Command): void {
  const list = tenants
    .command('ls')
    .alias('list')
    .description('list tenants by their names')
    .addHelpText('after', `\nExample:\n  holdfast tenants ls -o yaml`)
  withServer(withOutput(withLimit(list))).action(async (flags: Flags & LimitFlags) => {
    const found = await (await openClient(flags)).tenants.list({ pageSize: Math.min(200, flags.limit + 1) }).take(flags.limit + 1)
    await printList(found.slice(0, flags.limit), { columns: columns(Date.now()), idOf }, flags)
    if (found.length > flags.limit) note(`there are more than ${flags.limit}; --limit shows more`)
  })
}

function addCreate(tenants: Command): void {
  const create = tenants
    .command('create')
    .description('make a tenant')
    .argument('<name>', 'its name')
    .addHelpText('after', `\nExample:\n  holdfast tenants create acme --open-sessions 500 --max-idle 1h`)
  withServer(withOutput(withQuotas(withPolicy(create)))).action(async (name: string, flags: Flags & QuotaFlags & PolicyFlags) => {
    const made = await (await openClient(flags)).tenants.create({ name, policy: policyOf(flags), quotas: quotasOf(flags) })
    await print(made, flags)
  })
}

function addGet(tenants: Command): void {
  const get = tenants
    .command('get')
    .description('look at a tenant')
    .argument('<tenant>', 'its name or id')
    .addHelpText('after', `\nExample:\n  holdfast tenants get acme`)
  withServer(withOutput(get)).action(async (id: string, flags: Flags) => print(await (await openClient(flags)).tenants.get(id), flags))
}

function addSetPolicy(tenants: Command): void {
  const set = tenants
    .command('set-policy')
    .description('replace the policy of a tenant; what is not given becomes what is safest')
    .argument('<tenant>', 'its name or id')
    .addHelpText('after', `\nExample:\n  holdfast tenants set-policy acme --admin-exec --max-lifetime 7d`)
  withServer(withOutput(withPolicy(set))).action(async (id: string, flags: Flags & PolicyFlags) => {
    const holdfast = await openClient(flags)
    const { version: ifVersion } = await holdfast.tenants.get(id)
    await print(await holdfast.tenants.setPolicy(id, policyOf(flags), { ifVersion }), flags)
  })
}

function addSetQuotas(tenants: Command): void {
  const set = tenants
    .command('set-quotas')
    .description('replace the quotas of a tenant; what is not given becomes the server’s default')
    .argument('<tenant>', 'its name or id')
    .addHelpText('after', `\nExample:\n  holdfast tenants set-quotas acme --open-sessions 1000 --compute-sessions none`)
  withServer(withOutput(withQuotas(set))).action(async (id: string, flags: Flags & QuotaFlags) => {
    const holdfast = await openClient(flags)
    const { version: ifVersion } = await holdfast.tenants.get(id)
    await print(await holdfast.tenants.setQuotas(id, quotasOf(flags), { ifVersion }), flags)
  })
}

function addTerminate(tenants: Command): void {
  const terminate = tenants
    .command('terminate')
    .description('end the sessions of a tenant and let nothing new begin in it; there is no way back')
    .argument('<tenant>', 'its name or id')
    .addHelpText('after', `\nExample:\n  holdfast tenants terminate acme`)
  withServer(withOutput(terminate)).action(async (id: string, flags: Flags) =>
    print(await (await openClient(flags)).tenants.terminate(id), flags),
  )
}

function withQuotas(command: Command): Command {
  return command
    .optionsGroup('Quotas, each a number or none:')
    .option('--open-sessions <count>', 'sessions that are open', wholeNumberOrNone)
    .option('--open-sessions-per-owner <count>', 'of one owner', wholeNumberOrNone)
    .option('--compute-sessions <count>', 'sessions that have a sandbox', wholeNumberOrNone)
    .option('--compute-sessions-per-owner <count>', 'of one owner', wholeNumberOrNone)
    .option('--profiles <count>', 'stored profiles', wholeNumberOrNone)
    .option('--pipelines <count>', 'stored pipelines', wholeNumberOrNone)
    .option('--kept-output-bytes <count>', 'bytes of execution records with their output', wholeNumberOrNone)
    .option('--kept-events <count>', 'events', wholeNumberOrNone)
    .option('--kept-answer-bytes <count>', 'bytes of answers kept for Idempotency-Keys', wholeNumberOrNone)
}

function quotasOf(flags: QuotaFlags): TenantQuotas {
  return {
    openSessions: orNull(flags.openSessions),
    openSessionsPerOwner: orNull(flags.openSessionsPerOwner),
    computeSessions: orNull(flags.computeSessions),
    computeSessionsPerOwner: orNull(flags.computeSessionsPerOwner),
    profiles: orNull(flags.profiles),
    pipelines: orNull(flags.pipelines),
    keptOutputBytes: orNull(flags.keptOutputBytes),
    keptEvents: orNull(flags.keptEvents),
    keptAnswerBytes: orNull(flags.keptAnswerBytes),
  }
}

function withPolicy(command: Command): Command {
  return command
    .optionsGroup('Policy:')
    .option('--admin-exec', 'administrators may work in sessions that others own')
    .option('--packing <profile>', 'a packing profile that may be asked for; may be repeated', repeated)
    .option('--max-idle <time>', 'the longest idle time, such as 1h', duration)
    .option('--max-lease <time>', 'the longest lease', duration)
    .option('--max-lifetime <time>', 'the longest lifetime', duration)
    .option('--max-retention <time>', 'the longest retention', duration)
}

function policyOf({ adminExec, packing, maxIdle, maxLease, maxLifetime, maxRetention }: PolicyFlags): TenantPolicy {
  const ceilings = { idleSeconds: maxIdle, leaseSeconds: maxLease, lifetimeSeconds: maxLifetime, retentionSeconds: maxRetention }
  const hasCeilings = Object.values(ceilings).some((value) => value !== undefined)
  return {
    adminExec,
    ...(packing === undefined ? {} : { packing: { profiles: packing } }),
    ...(hasCeilings ? { ceilings } : {}),
  }
}

function print(tenant: TenantRecord, flags: OutputFlags): Promise<void> {
  return printOne(tenant, { rows, idOf }, flags)
}

/** `openSessions` as people read it. */
function words(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}

function columns(now: number): readonly Column<TenantRecord>[] {
  return [
    { title: 'ID', of: idOf },
    { title: 'NAME', of: ({ name }) => name, isFlexible: true },
    { title: 'STATE', of: ({ state }) => state, tint: ({ state }) => (state === 'active' ? 'green' : 'red') },
    { title: 'CREATED', of: ({ createdAt }) => momentWords(createdAt, now) },
  ]
}

function rows({ id, name, state, policy, quotas, version, createdAt }: TenantRecord) {
  return [
    ['id', id],
    ['name', name],
    ['state', state],
    ['admin exec', policy.adminExec === true ? 'allowed' : 'not allowed'],
    ['packing', policy.packing?.profiles.join(', ') || 'none'],
    ...Object.entries(policy.ceilings ?? {}).map(
      ([ceiling, seconds]) => [`at most ${words(ceiling.replace('Seconds', ''))}`, durationWords(seconds * 1000)] as const,
    ),
    ...Object.entries(quotas).map(([quota, limit]) => [`quota of ${words(quota)}`, String(limit ?? 'none')] as const),
    ['version', String(version)],
    ['created', createdAt],
  ] as const
}
