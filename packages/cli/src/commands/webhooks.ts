/** `holdfast webhooks …`: where the events of the tenant are sent. */
import type { Command } from 'commander'
import type { WebhookRecord } from '@holdfast/sdk'
import { openClient } from '../client.ts'
import { withOutput } from '../flags/output-flags.ts'
import { repeated } from '../flags/parse.ts'
import { withServer } from '../flags/server-flags.ts'
import type { ServerFlags } from '../flags/server-flags.ts'
import { printList, printOne } from '../output/print.ts'
import type { OutputFlags } from '../output/print.ts'
import type { Column } from '../output/table.ts'

type Flags = ServerFlags & OutputFlags

const idOf = ({ id }: WebhookRecord) => id

export function addWebhooks(program: Command): void {
  const webhooks = program.command('webhooks').alias('webhook').description('where the events of the tenant are sent')

  const list = webhooks.command('ls').alias('list').description('list webhooks').addHelpText('after', `\nExample:\n  holdfast webhooks ls`)
  withServer(withOutput(list)).action(async (flags: Flags) =>
    printList(await (await openClient(flags)).webhooks.list(), { columns: COLUMNS, idOf }, flags),
  )

  const create = webhooks
    .command('create')
    .description('send events to an address; its secret is shown once')
    .argument('<address>', 'where to send them')
    .option('--type <type>', 'only events of this type, such as session.suspended; may be repeated', repeated)
    .addHelpText('after', `\nExample:\n  holdfast webhooks create https://example.com/hook --type session.suspended --type execution.ended`)
  withServer(withOutput(create)).action(async (url: string, flags: Flags & { readonly type?: readonly string[] }) => {
    const made = await (await openClient(flags)).webhooks.create({ url, types: flags.type })
    const shown = { rows: (hook: typeof made) => [...rows(hook), ['secret', `${hook.secret} (shown only now)`] as const], idOf }
    await printOne(made, shown, flags)
  })

  const remove = webhooks
    .command('rm')
    .description('remove a webhook')
    .argument('<id>', 'its id')
    .addHelpText('after', `\nExample:\n  holdfast webhooks rm whk_4k2m…`)
  withServer(remove).action(async (id: string, flags: ServerFlags) => (await openClient(flags)).webhooks.remove(id))

  for (const [name, description] of [
    ['pause', 'send nothing until it is resumed'],
    ['resume', 'send events again'],
  ] as const) {
    const command = webhooks
      .command(name)
      .description(description)
      .argument('<id>', 'its id')
      .addHelpText('after', `\nExample:\n  holdfast webhooks ${name} whk_4k2m…`)
    withServer(withOutput(command)).action(async (id: string, flags: Flags) =>
      printOne(await (await openClient(flags)).webhooks[name](id), { rows, idOf }, flags),
    )
  }
}

const COLUMNS: readonly Column<WebhookRecord>[] = [
  { title: 'ID', of: idOf },
  { title: 'ADDRESS', of: ({ url }) => url, isFlexible: true },
  { title: 'TYPES', of: typeWords, isFlexible: true },
  { title: 'STATE', of: ({ state }) => state, tint: ({ state }) => (state === 'active' ? 'green' : 'yellow') },
  {
    title: 'TROUBLE',
    of: ({ attempts, lastProblem }) => (attempts === 0 ? '' : `${attempts} times: ${lastProblem ?? ''}`),
    isFlexible: true,
  },
]

function rows(webhook: WebhookRecord) {
  return [
    ['id', webhook.id],
    ['address', webhook.url],
    ['types', typeWords(webhook)],
    ['state', webhook.state],
    ['created', `${webhook.createdAt} by ${webhook.createdBy}`],
  ] as const
}

function typeWords({ types }: WebhookRecord): string {
  return types.length === 0 ? 'all' : types.join(', ')
}
