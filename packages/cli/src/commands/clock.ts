/** `holdfast clock …`: the server's clock, and a jump of the wall clock that waits for a confirmation. */
import type { Command } from 'commander'
import type { ServerClock } from '@holdfast/sdk'
import { openClient } from '../client.ts'
import { withFormat } from '../flags/output-flags.ts'
import { withServer } from '../flags/server-flags.ts'
import type { ServerFlags } from '../flags/server-flags.ts'
import { printOne } from '../output/print.ts'
import type { OutputFlags } from '../output/print.ts'

type Flags = ServerFlags & OutputFlags

export function addClock(program: Command): void {
  const clock = program.command('clock').description('the server’s clock, and a jump of the wall clock that waits for a confirmation')

  const show = clock
    .command('show')
    .description('show the time that deadlines are compared with, and a jump that is not followed yet')
    .addHelpText('after', `\nExample:\n  holdfast clock show`)
  withServer(withFormat(show)).action(async (flags: Flags) => {
    await printOne(await (await openClient(flags)).clock(), { rows: clockRows, idOf: ({ time }) => time }, flags)
  })

  const confirm = clock
    .command('confirm')
    .description('follow a jump of the wall clock now; what is due by the new time expires')
    .addHelpText('after', `\nExample:\n  holdfast clock confirm`)
  withServer(withFormat(confirm)).action(async (flags: Flags) => {
    await printOne(await (await openClient(flags)).confirmClock(), { rows: clockRows, idOf: ({ time }) => time }, flags)
  })
}

function clockRows({ time, wallTime, jump }: ServerClock): readonly (readonly [string, string])[] {
  return [
    ['time', time],
    ['wall time', wallTime],
    ['jump', jump === null ? 'none' : `${jump.bySeconds} seconds, followed at ${jump.followedAt}`],
  ]
}
