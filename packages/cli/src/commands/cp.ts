/** `holdfast cp`: files and directories between this machine and a session. */
import type { Command } from 'commander'
import { openClient } from '../client.ts'
import { copyIn } from '../copying/copy-in.ts'
import { copyOut } from '../copying/copy-out.ts'
import { insidePlace } from '../copying/places.ts'
import { findSession, useSession } from '../find-session.ts'
import { withServer } from '../flags/server-flags.ts'
import type { ServerFlags } from '../flags/server-flags.ts'
import { withSession, wrongUse } from '../flags/session-flags.ts'
import type { SessionFlags } from '../flags/session-flags.ts'
import { interruption } from '../interruption.ts'

export function addCopy(program: Command): void {
  const copy = program
    .command('cp')
    .description('copy files and directories into a session and out of it')
    .argument('<source>', 'a path here, or session:path, or - for stdin')
    .argument('<target>', 'a path here, or session:path, or - for stdout')
    .addHelpText(
      'after',
      `
Examples:
  holdfast cp report.pdf demo:/workspace/
  holdfast cp demo:results.csv .
  holdfast cp ./project demo:            a directory, as demo:project
  holdfast cp ./project/. demo:          what is in it
  holdfast cp demo:/workspace ./backup
  tar cz . | holdfast cp - demo:all.tgz
  holdfast cp demo:project - | tar t     a directory to stdout is a tar archive
  holdfast cp --scope chat --var launcher_type=group --var launcher_id=123456 a.txt :b.txt

A path inside is absolute, or relative to the workspace. Copying into a session makes it if need be.`,
    )
  withServer(withSession(copy)).action(async (source: string, target: string, flags: ServerFlags & SessionFlags) => {
    const from = insidePlace(source, flags)
    const to = insidePlace(target, flags)
    if ((from === null) === (to === null)) throw wrongUse('exactly one of the two must be in a session, written as session:path')
    const holdfast = await openClient(flags)
    const stop = interruption()
    try {
      if (to !== null) await copyIn(await useSession(holdfast, to.session), source, to.path, stop.signal)
      else if (from !== null) await copyOut(await findSession(holdfast, from.session), from.path, target, stop.signal)
    } catch (error) {
      stop.settle(error)
    } finally {
      stop.end()
      process.stdin.destroy()
    }
  })
}
