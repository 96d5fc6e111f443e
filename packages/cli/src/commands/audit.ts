/** `holdfast audit …`: who did what, and whether the records are still as they were written. */
import type { Command } from 'commander'
import type { AuditRecord, AuditVerdict } from '@holdfast/sdk'
import { openClient } from '../client.ts'
import { EXIT_REFUSED } from '../exit-code.ts'
import { note } from '../failure.ts'
import { withFormat, withLimit, withOutput } from '../flags/output-flags.ts'
import type { LimitFlags } from '../flags/output-flags.ts'
import { withServer } from '../flags/server-flags.ts'
import type { ServerFlags } from '../flags/server-flags.ts'
import { printList, printOne } from '../output/print.ts'
import type { OutputFlags } from '../output/print.ts'
import type { Column } from '../output/table.ts'

type Flags = ServerFlags & OutputFlags

export function addAudit(program: Command): void {
  const audit = program.command('audit').description('who did what, and whether the records are still as they were written')

  const list = audit
    .command('ls')
    .alias('list')
    .description('list records, newest first')
    .option('--session <id>', 'only of this session')
    .addHelpText('after', `\nExamples:\n  holdfast audit ls -n 20\n  holdfast audit ls --session ses_4k2m… -o json`)
  withServer(withOutput(withLimit(list))).action(async (flags: Flags & LimitFlags & { readonly session?: string }) => {
    const options = { sessionId: flags.session, pageSize: Math.min(200, flags.limit + 1) }
    const found = await (await openClient(flags)).audit.list(options).take(flags.limit + 1)
    await printList(found.slice(0, flags.limit), { columns: COLUMNS, idOf: ({ chain, seq }) => `${chain}/${seq}` }, flags)
    if (found.length > flags.limit) note(`there are more than ${flags.limit}; --limit shows more`)
  })

  const verify = audit
    .command('verify')
    .description('check every record against its chain; exit code 1 when one is not as it was written')
    .addHelpText('after', `\nExample:\n  holdfast audit verify || alert`)
  withServer(withFormat(verify)).action(async (flags: Flags) => {
    // However many records there are.
    const verdict = await (await openClient(flags)).audit.verify({ timeoutMs: Infinity })
    await printOne(verdict, { rows: verdictRows, idOf: () => '' }, flags)
    if (verdict.problems > 0) process.exitCode = EXIT_REFUSED
  })
}

const COLUMNS: readonly Column<AuditRecord>[] = [
  { title: 'AT', of: ({ at }) => at },
  {
    title: 'ACTOR',
    of: ({ actor, onBehalfOf }) => (onBehalfOf === undefined ? actor.subject : `${onBehalfOf} via ${actor.subject}`),
    isFlexible: true,
  },
  { title: 'ACTION', of: ({ action }) => action },
  { title: 'ON', of: ({ resource }) => resource.id, isFlexible: true },
  {
    title: 'OUTCOME',
    of: ({ decision, outcome, errorCode }) => (decision === 'deny' ? 'denied' : (errorCode ?? outcome)),
    tint: ({ decision, outcome }) => (decision === 'deny' || outcome === 'failure' ? 'red' : 'none'),
  },
]

function verdictRows({ records, chains, problems, items }: AuditVerdict): readonly (readonly [string, string])[] {
  return [
    ['records', String(records)],
    ['chains', String(chains)],
    ['problems', String(problems)],
    ...items.map(({ kind, chain, seq, message }) => [`${kind} at ${chain}/${seq}`, message] as const),
  ]
}
