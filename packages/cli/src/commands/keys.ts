/** `holdfast keys …`: API keys of a tenant. */
import { InvalidArgumentError, Option } from 'commander'
import type { Command } from 'commander'
import type { KeyRecord, KeyUsers, Role } from '@holdfast/sdk'
import { openClient } from '../client.ts'
import { note } from '../failure.ts'
import { withLimit, withOutput } from '../flags/output-flags.ts'
import type { LimitFlags } from '../flags/output-flags.ts'
import { duration, repeated } from '../flags/parse.ts'
import { withServer } from '../flags/server-flags.ts'
import type { ServerFlags } from '../flags/server-flags.ts'
import { printList, printOne } from '../output/print.ts'
import type { OutputFlags } from '../output/print.ts'
import type { Column } from '../output/table.ts'
import { momentWords } from '../output/words.ts'

type Flags = ServerFlags & OutputFlags

const ROLES: readonly Role[] = ['viewer', 'member', 'operator', 'tenant_admin', 'platform_admin']
const idOf = ({ id }: KeyRecord) => id

export function addKeys(program: Command): void {
  const keys = program.command('keys').alias('key').description('API keys of the tenant')
  addList(keys)
  addCreate(keys)
  addRevoke(keys)
}

function addList(keys: Command): void {
  const list = keys
    .command('ls')
    .alias('list')
    .description('list keys, oldest first')
    .option('-a, --all', 'those that were revoked or have expired too')
    .addHelpText('after', `\nExamples:\n  holdfast keys ls\n  holdfast keys ls -a --tenant acme`)
  withServer(withOutput(withLimit(list))).action(async (flags: Flags & LimitFlags & { readonly all?: true }) => {
    const found: KeyRecord[] = []
    const now = Date.now()
    for await (const key of (await openClient(flags)).keys.list({ pageSize: 200 })) {
      if (flags.all === true || isGood(key, now)) found.push(key)
      if (found.length > flags.limit) break
    }
    await printList(found.slice(0, flags.limit), { columns: columns(now), idOf }, flags)
    if (found.length > flags.limit) note(`there are more than ${flags.limit}; --limit shows more`)
  })
}

function addCreate(keys: Command): void {
  interface CreateFlags extends Flags {
    readonly subject: string
    readonly role?: Role
    readonly service?: true
    readonly keyGroup?: readonly string[]
    readonly user?: readonly string[]
    readonly userPrefix?: string
    readonly expires?: number
  }
  const create = keys
    .command('create')
    .description('make a key; it is shown once')
    .argument('<name>', 'for people who look at the list')
    .requiredOption('--subject <subject>', 'whom it speaks for')
    .addOption(new Option('--role <role>', 'what it may do').choices(ROLES))
    .option('--service', 'it may also speak for users: those below its subject (bot/alice) unless a list or a prefix is given')
    .option('--user <subject>', 'a user that a service key speaks for; may be repeated', repeated)
    .option('--user-prefix <text>', 'a service key speaks for all users whose names begin so')
    .option('--key-group <name>', 'a group of the subject; may be repeated', repeated)
    .option('--expires <time>', 'it is good for so long, such as 90d; until revoked unless given', duration)
    .addHelpText(
      'after',
      `
Examples:
  holdfast keys create laptop --subject alice --role member
  KEY=$(holdfast keys create bot --subject bot --service -o json | jq -r .key)`,
    )
  withServer(withOutput(create)).action(async (name: string, flags: CreateFlags) => {
    const { subject, role, service, keyGroup: groups, expires: expiresInSeconds } = flags
    const users = usersOf(flags)
    const kind = service === true ? 'service' : undefined
    const made = await (await openClient(flags)).keys.create({ name, subject, role, kind, groups, users, expiresInSeconds })
    await printOne(made, { rows: (key) => [...rows(key), ['key', `${key.key} (shown only now)`] as const], idOf: ({ key }) => key }, flags)
  })
}

function addRevoke(keys: Command): void {
  const revoke = keys
    .command('revoke')
    .description('end a key; its record stays')
    .argument('<id>', 'its id')
    .addHelpText('after', `\nExample:\n  holdfast keys revoke key_4k2m…`)
  withServer(withOutput(revoke)).action(async (id: string, flags: Flags) =>
    printOne(await (await openClient(flags)).keys.revoke(id), { rows, idOf }, flags),
  )
}

function usersOf({ user, userPrefix }: { readonly user?: readonly string[]; readonly userPrefix?: string }): KeyUsers | undefined {
  if (user !== undefined && userPrefix !== undefined) throw new InvalidArgumentError('give --user or --user-prefix, not both')
  if (user !== undefined) return { list: user }
  return userPrefix === undefined ? undefined : { prefix: userPrefix }
}

function userWords(subject: string, users: NonNullable<KeyRecord['users']>): string {
  if ('list' in users) return users.list.join(', ')
  if ('prefix' in users) return `${users.prefix}…`
  return 'own' in users ? `${subject}/…` : 'any user'
}

function isGood({ revokedAt, expiresAt }: KeyRecord, now: number): boolean {
  return revokedAt === null && (expiresAt === null || Date.parse(expiresAt) > now)
}

function columns(now: number): readonly Column<KeyRecord>[] {
  return [
    { title: 'ID', of: idOf },
    { title: 'NAME', of: ({ name }) => name, isFlexible: true },
    { title: 'SUBJECT', of: ({ subject }) => subject, isFlexible: true },
    { title: 'KIND', of: ({ kind }) => kind },
    { title: 'ROLE', of: ({ role }) => role },
    { title: 'CREATED', of: ({ createdAt }) => momentWords(createdAt, now) },
    { title: 'ENDS', of: ({ revokedAt, expiresAt }) => (revokedAt === null ? momentWords(expiresAt, now) : 'revoked') },
  ]
}

function rows({ id, name, subject, kind, role, groups, users, createdAt, createdBy, expiresAt, revokedAt }: KeyRecord) {
  return [
    ['id', id],
    ['name', name],
    ['subject', groups.length === 0 ? subject : `${subject}, groups ${groups.join(', ')}`],
    ['kind', users === null ? kind : `${kind}, speaks for ${userWords(subject, users)}`],
    ['role', role],
    ['created', `${createdAt} by ${createdBy}`],
    ['ends', revokedAt === null ? (expiresAt ?? 'when it is revoked') : `revoked ${revokedAt}`],
  ] as const
}
