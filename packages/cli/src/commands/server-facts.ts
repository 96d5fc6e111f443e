/** `holdfast backends`, `scopes` and `quotas`: what the server offers, and how much of it there is. */
import type { Command } from 'commander'
import type { Backend, Quotas, Scopes } from '@holdfast/sdk'
import { openClient } from '../client.ts'
import { withOutput } from '../flags/output-flags.ts'
import { withServer } from '../flags/server-flags.ts'
import type { ServerFlags } from '../flags/server-flags.ts'
import { printList } from '../output/print.ts'
import type { OutputFlags } from '../output/print.ts'
import type { Column } from '../output/table.ts'
import { durationWords } from '../output/words.ts'

type Flags = ServerFlags & OutputFlags

export function addServerFacts(program: Command): void {
  const scopes = program
    .command('scopes')
    .description('the rules that make a session’s key')
    .option('--lang <language>', 'of labels and descriptions, such as en-US or zh-Hans')
    .addHelpText('after', `\nExamples:\n  holdfast scopes\n  holdfast scopes --lang zh-Hans -o json`)
  withServer(withOutput(scopes)).action(async (flags: Flags & { readonly lang?: string }) => {
    const found = await (await openClient(flags)).scopes({ lang: flags.lang })
    await printList(found.items, { columns: scopeColumns(found), idOf: ({ name }) => name }, flags, found)
  })

  const backends = program
    .command('backends')
    .description('what isolates sandboxes on the server, and what each can do')
    .addHelpText('after', `\nExamples:\n  holdfast backends\n  holdfast doctor        the same for this machine, with the fixes`)
  withServer(withOutput(backends)).action(async (flags: Flags) => {
    const found = await (await openClient(flags)).backends()
    await printList(found, { columns: BACKEND_COLUMNS, idOf: ({ kind }) => kind }, flags)
  })

  const quotas = program
    .command('quotas')
    .description('how much there may be, and how much there is')
    .option('--owner <subject>', 'of somebody else, for those who see the tenant')
    .addHelpText('after', `\nExample:\n  holdfast quotas --owner alice`)
  withServer(withOutput(quotas)).action(async (flags: Flags & { readonly owner?: string }) => {
    const found = await (await openClient(flags)).quotas({ owner: flags.owner })
    await printList(found.items, { columns: quotaColumns(found), idOf: ({ quota }) => quota }, flags, found)
  })
}

function scopeColumns({ default: usual, forced }: Scopes): readonly Column<Scopes['items'][number]>[] {
  return [
    { title: 'SCOPE', of: ({ name }) => (forced === name ? `${name} (forced)` : usual === name ? `${name} (default)` : name) },
    { title: 'TEMPLATE', of: ({ template }) => template, isFlexible: true },
    { title: 'IDLE', of: ({ idleSeconds }) => durationWords(idleSeconds * 1000) },
    { title: 'WHO SHARES A SANDBOX', of: ({ description }) => description, isFlexible: true },
  ]
}

const BACKEND_COLUMNS: readonly Column<Backend>[] = [
  { title: 'BACKEND', of: ({ kind }) => kind },
  { title: 'CHOSEN', of: ({ chosen }) => (chosen ? 'yes' : '') },
  { title: 'VERSION', of: ({ version }) => version ?? '-' },
  {
    title: 'STATE',
    of: ({ available, reason }) => (available ? 'available' : (reason ?? 'not available')),
    isFlexible: true,
    tint: ({ available }) => (available ? 'green' : 'dim'),
  },
  { title: 'FIX', of: ({ fix }) => fix ?? '', isFlexible: true },
]

function quotaColumns({ owner }: Quotas): readonly Column<Quotas['items'][number]>[] {
  return [
    { title: 'QUOTA', of: ({ quota }) => `${quota.replaceAll('_', ' ')}${quota.endsWith('owner') ? ` (${owner})` : ''}` },
    { title: 'USED', of: ({ used }) => (used === null ? '-' : String(used)) },
    { title: 'LIMIT', of: ({ limit }) => (limit === null ? 'none' : String(limit)) },
  ]
}
