/** `holdfast profiles …`: the named sets of values that sandboxes can be made with. */
import { Option } from 'commander'
import type { Command } from 'commander'
import type { Profile, Profiles, ProfileSettings } from '@holdfast/sdk'
import { openClient } from '../client.ts'
import { withOutput } from '../flags/output-flags.ts'
import { byteSizeOrNone, decimalOrNone, duration, orNull, repeated, wholeNumberOrNone } from '../flags/parse.ts'
import type { OrNone } from '../flags/parse.ts'
import { withServer } from '../flags/server-flags.ts'
import type { ServerFlags } from '../flags/server-flags.ts'
import { wrongUse } from '../flags/session-flags.ts'
import { printList, printOne } from '../output/print.ts'
import type { OutputFlags } from '../output/print.ts'
import type { Column } from '../output/table.ts'
import { durationWords, sizeWords } from '../output/words.ts'

type Flags = ServerFlags & OutputFlags

interface SettingFlags {
  readonly image?: string
  readonly network?: 'on' | 'off'
  readonly rootfs?: 'read-only' | 'writable'
  readonly home?: 'persistent' | 'ephemeral'
  readonly user?: 'user' | 'root'
  readonly workspace?: 'rw' | 'ro' | 'none'
  readonly memory?: OrNone
  readonly cpus?: OrNone
  readonly pids?: OrNone
  readonly workspaceSize?: OrNone
  readonly timeout?: number
  readonly maxTimeout?: number
  readonly lock?: readonly string[]
}

const idOf = ({ name }: Profile) => name
const limitWords = (limit: number | null) => String(limit ?? 'none')
const sizeOr = (size: number | null, otherwise: string) => (size === null ? otherwise : sizeWords(size))
const timeWords = ({ timeoutMs, maxTimeoutMs }: Profile) => `${durationWords(timeoutMs)}, at most ${durationWords(maxTimeoutMs)}`

export function addProfiles(program: Command): void {
  const profiles = program.command('profiles').alias('profile').description('the named sets of values that sandboxes can be made with')

  const list = profiles
    .command('ls', { isDefault: true })
    .alias('list')
    .description('list profiles: read-only ones first, then those of the tenant')
    .addHelpText('after', `\nExamples:\n  holdfast profiles\n  holdfast profiles ls -o json`)
  withServer(withOutput(list)).action(async (flags: Flags) => {
    const found = await (await openClient(flags)).profiles()
    await printList(found.items, { columns: columns(found), idOf }, flags, found)
  })

  const get = profiles
    .command('get')
    .description('look at a profile')
    .argument('<name>', 'its name')
    .addHelpText('after', `\nExample:\n  holdfast profiles get careful`)
  withServer(withOutput(get)).action(async (name: string, flags: Flags) => print(await (await openClient(flags)).profiles.get(name), flags))

  const create = profiles
    .command('create')
    .description('store a profile for the tenant; what is not given is the server’s setting')
    .argument('<name>', 'its name')
    .addHelpText('after', `\nExample:\n  holdfast profiles create careful --network off --memory 256m --lock network`)
  withServer(withOutput(withSettings(create))).action(async (name: string, flags: Flags & SettingFlags) =>
    print(await (await openClient(flags)).profiles.create(name, settingsOf(flags)), flags),
  )

  const set = profiles
    .command('set')
    .description('replace a stored profile, for sessions made later; what is not given becomes the server’s setting')
    .argument('<name>', 'its name')
    .addHelpText('after', `\nExample:\n  holdfast profiles set careful --network off --memory 512m --lock network`)
  withServer(withOutput(withSettings(set))).action(async (name: string, flags: Flags & SettingFlags) => {
    const { profiles: api } = await openClient(flags)
    // The server refuses a read-only profile whatever the version is, and says why.
    const ifVersion = (await api.get(name)).version ?? 0
    await print(await api.replace(name, settingsOf(flags), { ifVersion }), flags)
  })

  const remove = profiles
    .command('rm')
    .description('remove a stored profile that no pipeline names; sessions keep what they were made with')
    .argument('<name>', 'its name')
    .addHelpText('after', `\nExample:\n  holdfast profiles rm careful`)
  withServer(remove).action(async (name: string, flags: ServerFlags) => (await openClient(flags)).profiles.remove(name))
}

function withSettings(command: Command): Command {
  return command
    .optionsGroup('Settings:')
    .option('--image <name>', 'image of the container backends')
    .addOption(new Option('--network <on|off>', 'network of the sandbox').choices(['on', 'off']))
    .addOption(new Option('--rootfs <kind>', 'whether the root can be written').choices(['read-only', 'writable']))
    .addOption(new Option('--home <kind>', 'whether /home/user is kept with the session').choices(['persistent', 'ephemeral']))
    .addOption(new Option('--user <who>', 'who commands are').choices(['user', 'root']))
    .addOption(new Option('--workspace <mode>', 'mode of the workspace').choices(['rw', 'ro', 'none']))
    .option('--memory <size>', 'memory, such as 512m or 2g, or none', byteSizeOrNone)
    .option('--cpus <number>', 'processors, such as 0.5, or none', decimalOrNone)
    .option('--pids <number>', 'processes, or none', wholeNumberOrNone)
    .option('--workspace-size <size>', 'all files in the workspace together', byteSizeOrNone)
    .option('--timeout <time>', 'of a command that names none, such as 30s', duration)
    .option('--max-timeout <time>', 'the longest that a command may have', duration)
    .option('--lock <field>', 'a field that takes no other value, such as network; may be repeated', repeated)
}

function settingsOf(flags: SettingFlags): ProfileSettings {
  const { image, network, rootfs, home, user, workspace, memory, cpus, pids, workspaceSize, timeout, maxTimeout, lock } = flags
  if (workspaceSize === 'none') throw wrongUse('--workspace-size takes a size; leave it out for the server’s')
  const limits = { memoryBytes: orNull(memory), cpus: orNull(cpus), pids: orNull(pids), workspaceBytes: workspaceSize }
  return {
    ...{ image, network, rootfs, home, user, workspaceMode: workspace, locked: lock },
    ...(Object.values(limits).some((limit) => limit !== undefined) ? { limits } : {}),
    ...{
      timeoutMs: timeout === undefined ? undefined : timeout * 1000,
      maxTimeoutMs: maxTimeout === undefined ? undefined : maxTimeout * 1000,
    },
  }
}

function print(profile: Profile, flags: OutputFlags): Promise<void> {
  return printOne(profile, { rows, idOf }, flags)
}

function columns({ default: usual }: Profiles): readonly Column<Profile>[] {
  return [
    { title: 'PROFILE', of: ({ name }) => (usual === name ? `${name} (default)` : name) },
    { title: 'SOURCE', of: ({ source }) => source },
    { title: 'NETWORK', of: ({ network }) => network },
    { title: 'ROOT', of: ({ rootfs }) => rootfs },
    { title: 'HOME', of: ({ home }) => home },
    { title: 'WORKSPACE', of: ({ workspaceMode }) => workspaceMode },
    { title: 'CPUS', of: ({ limits }) => limitWords(limits.cpus) },
    { title: 'MEMORY', of: ({ limits }) => sizeOr(limits.memoryBytes, 'none') },
    { title: 'PIDS', of: ({ limits }) => limitWords(limits.pids) },
    { title: 'TIME', of: timeWords },
    { title: 'LOCKED', of: ({ locked }) => locked.join(', '), isFlexible: true },
    {
      title: 'STATE',
      of: ({ reason }) => reason ?? 'usable',
      isFlexible: true,
      tint: ({ usable }) => (usable ? 'green' : 'dim'),
    },
  ]
}

function rows(profile: Profile) {
  const { name, source, readOnly, version, image, network, rootfs, home, user, workspaceMode, limits, locked, reason } = profile
  return [
    ['name', name],
    ['source', readOnly ? `${source} (read-only)` : source],
    ['version', version === null ? '-' : String(version)],
    ['image', image ?? 'the server’s'],
    ['network', network],
    ['root', rootfs],
    ['home', home],
    ['user', user],
    ['workspace', workspaceMode],
    ['cpus', limitWords(limits.cpus)],
    ['memory', sizeOr(limits.memoryBytes, 'none')],
    ['pids', limitWords(limits.pids)],
    ['workspace size', sizeOr(limits.workspaceBytes, 'the server’s')],
    ['time', timeWords(profile)],
    ['locked', locked.join(', ') || '-'],
    ['state', reason ?? 'usable'],
  ] as const
}
