/** `holdfast pipelines …`: scope, profile and skills of each kind of conversation. */
import type { Command } from 'commander'
import type { Pipeline, PipelineSettings } from '@holdfast/sdk'
import { openClient } from '../client.ts'
import { withOutput } from '../flags/output-flags.ts'
import { repeated } from '../flags/parse.ts'
import { withServer } from '../flags/server-flags.ts'
import type { ServerFlags } from '../flags/server-flags.ts'
import { printList, printOne } from '../output/print.ts'
import type { OutputFlags } from '../output/print.ts'
import type { Column } from '../output/table.ts'

type Flags = ServerFlags & OutputFlags

interface SettingFlags {
  readonly scope?: string
  readonly profile?: string
  readonly skill?: readonly string[]
}

const idOf = ({ name }: Pipeline) => name

export function addPipelines(program: Command): void {
  const pipelines = program.command('pipelines').alias('pipeline').description('scope, profile and skills of each kind of conversation')

  const list = pipelines
    .command('ls', { isDefault: true })
    .alias('list')
    .description('list pipelines: those of the configuration first, then those of the tenant')
    .addHelpText('after', `\nExample:\n  holdfast pipelines`)
  withServer(withOutput(list)).action(async (flags: Flags) => {
    const found = await (await openClient(flags)).pipelines()
    await printList(found.items, { columns: COLUMNS, idOf }, flags, found)
  })

  const get = pipelines
    .command('get')
    .description('look at a pipeline')
    .argument('<name>', 'its name')
    .addHelpText('after', `\nExample:\n  holdfast pipelines get support`)
  withServer(withOutput(get)).action(async (name: string, flags: Flags) =>
    print(await (await openClient(flags)).pipelines.get(name), flags),
  )

  const create = pipelines
    .command('create')
    .description('store a pipeline for the tenant')
    .argument('<name>', 'its name')
    .addHelpText('after', `\nExample:\n  holdfast pipelines create support --scope user --profile network_basic --skill pdf`)
  withServer(withOutput(withSettings(create))).action(async (name: string, flags: Flags & SettingFlags) =>
    print(await (await openClient(flags)).pipelines.create(name, settingsOf(flags)), flags),
  )

  const set = pipelines
    .command('set')
    .description('replace a stored pipeline, for sessions made later; what is not given is what a request without one gets')
    .argument('<name>', 'its name')
    .addHelpText('after', `\nExample:\n  holdfast pipelines set support --scope chat`)
  withServer(withOutput(withSettings(set))).action(async (name: string, flags: Flags & SettingFlags) => {
    const { pipelines: api } = await openClient(flags)
    // The server refuses a read-only pipeline whatever the version is, and says why.
    const ifVersion = (await api.get(name)).version ?? 0
    await print(await api.replace(name, settingsOf(flags), { ifVersion }), flags)
  })

  const remove = pipelines
    .command('rm')
    .description('remove a stored pipeline; its sessions live on')
    .argument('<name>', 'its name')
    .addHelpText('after', `\nExample:\n  holdfast pipelines rm support`)
  withServer(remove).action(async (name: string, flags: ServerFlags) => (await openClient(flags)).pipelines.remove(name))
}

function withSettings(command: Command): Command {
  return command
    .optionsGroup('Settings:')
    .option('--scope <scope>', 'the rule that makes its keys: chat, user, … or a template such as {sender_id}')
    .option('--profile <name>', 'the profile of its sessions')
    .option('--skill <name>', 'a skill that its sessions show; may be repeated', repeated)
}

function settingsOf({ scope, profile, skill }: SettingFlags): PipelineSettings {
  return { scope, profile, skills: skill }
}

function print(pipeline: Pipeline, flags: OutputFlags): Promise<void> {
  return printOne(pipeline, { rows, idOf }, flags)
}

const COLUMNS: readonly Column<Pipeline>[] = [
  { title: 'PIPELINE', of: idOf },
  { title: 'SOURCE', of: ({ source }) => source },
  { title: 'SCOPE', of: ({ scope }) => scope, isFlexible: true },
  { title: 'PROFILE', of: ({ profile }) => profile ?? '-' },
  { title: 'SKILLS', of: ({ skills }) => skills.join(', '), isFlexible: true },
]

function rows({ name, source, readOnly, version, scope, profile, skills }: Pipeline) {
  return [
    ['name', name],
    ['source', readOnly ? `${source} (read-only)` : source],
    ['version', version === null ? '-' : String(version)],
    ['scope', scope],
    ['profile', profile ?? '-'],
    ['skills', skills.join(', ') || '-'],
  ] as const
}
