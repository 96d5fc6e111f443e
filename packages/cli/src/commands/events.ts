/** `holdfast events`: what happens to all sessions that the caller may see. */
import type { Command } from 'commander'
import { openClient } from '../client.ts'
import type { EventFlags } from '../event-printing.ts'
import { withFormat } from '../flags/output-flags.ts'
import { withServer } from '../flags/server-flags.ts'

export function addEvents(program: Command): void {
  const events = program
    .command('events')
    .description('what happened to the sessions that you may see')
    .option('-f, --follow', 'go on with those to come')
    .option('--after <id>', 'only those after this event, or now')
    .addHelpText(
      'after',
      `
Examples:
  holdfast events -f
  holdfast events -f --after now -o json | jq .type`,
    )
  withServer(withFormat(events)).action(async (flags: EventFlags & { readonly after?: string }) => {
    const { printAllEvents } = await import('../event-printing.ts')
    await printAllEvents(await openClient(flags), flags)
  })
}
