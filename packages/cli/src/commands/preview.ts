/** `holdfast preview`: a link by which a browser reaches a web app inside a session. */
import type { Command } from 'commander'
import { openClient } from '../client.ts'
import { note } from '../failure.ts'
import { findSession } from '../find-session.ts'
import { withOutput } from '../flags/output-flags.ts'
import { duration } from '../flags/parse.ts'
import { withServer } from '../flags/server-flags.ts'
import type { ServerFlags } from '../flags/server-flags.ts'
import { takeSession, withSession, wrongUse } from '../flags/session-flags.ts'
import type { SessionFlags } from '../flags/session-flags.ts'
import { structured, write } from '../output/print.ts'
import type { OutputFlags } from '../output/print.ts'
import { printable } from '../output/printable.ts'
import { wireNames } from '../output/wire-names.ts'
import { momentWords } from '../output/words.ts'

interface PreviewFlags extends ServerFlags, OutputFlags, SessionFlags {
  readonly ttl?: number
}

export function addPreview(program: Command): void {
  const preview = program
    .command('preview')
    .description('print a link by which a browser reaches a web app inside')
    .argument('<names...>', 'the session, then the port where the app listens')
    .usage('[options] <session> <port>')
    .option('--ttl <time>', 'for how long it works, such as 30m; an hour unless given, a day at most', duration)
    .addHelpText(
      'after',
      `
Examples:
  holdfast preview demo 5173
  xdg-open "$(holdfast preview demo 5173)"
  holdfast preview demo 8000 --ttl 10m -o json

Whoever has the link may use the app without a key, until its time is over or the session ends.`,
    )
  withServer(withOutput(withSession(preview))).action(async (names: readonly string[], flags: PreviewFlags) => {
    const { name, rest } = takeSession(names, flags, ['port'])
    const port = Number(rest[0])
    if (!Number.isInteger(port) || port < 1) throw wrongUse(`the port must be a whole number from 1 to 65535, but is ${String(rest[0])}`)
    const session = await findSession(await openClient(flags), name)
    const made = await session.preview(port, { ttlSeconds: flags.ttl })
    if (flags.quiet !== true && flags.output !== 'table') return write(await structured(wireNames(made), flags.output))
    await write(`${printable(made.url)}\n`)
    if (flags.quiet === true) return
    if (new URL(made.url).hostname.endsWith('.localhost'))
      note(`works in a browser on the server’s machine only; \`holdfast forward ${session.key} ${port}\` works on this one`)
    note(`works until ${made.expiresAt} (${momentWords(made.expiresAt, Date.now())})`)
  })
}
