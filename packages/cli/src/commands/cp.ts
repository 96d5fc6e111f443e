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
    .argument('<source...>', 'a path here, or session:path, or - for stdin; several go into a directory')
    .usage('[options] <source...> <target>')
    .addHelpText(
      'after',
      `
Examples:
  holdfast cp report.pdf demo:/workspace/
  holdfast cp *.csv notes.md demo:data/  several, into a directory
  holdfast cp demo:results.csv .
  holdfast cp ./project demo:            a directory, as demo:project
  holdfast cp ./project/. demo:          what is in it
  holdfast cp demo:/workspace ./backup
  tar cz . | holdfast cp - demo:all.tgz
  holdfast cp demo:project - | tar t     a directory to stdout is a tar archive
  holdfast cp --scope chat --var launcher_type=group --var launcher_id=123456 a.txt :b.txt

A path inside is absolute, or relative to the workspace. Copying into a session makes it if need be.`,
    )
  withServer(withSession(copy)).action(async (paths: readonly string[], flags: ServerFlags & SessionFlags) => {
    const [sources, target] = [paths.slice(0, -1), paths.at(-1) ?? '']
    if (sources.length === 0) throw wrongUse('give what to copy and where to, such as report.pdf demo:/workspace/')
    const to = insidePlace(target, flags)
    const from = sources.flatMap((source) => insidePlace(source, flags) ?? [])
    if (from.length !== (to === null ? sources.length : 0))
      throw wrongUse('either the target or all sources must be in a session, written as session:path')
    if (sources.length > 1 && (sources.includes('-') || target === '-')) throw wrongUse('- stands for one file, so copy it alone')
    // As `cp` does: several sources go into a directory, which the slash says.
    const several = (path: string) => (sources.length > 1 && !path.endsWith('/') ? `${path}/` : path)
    const holdfast = await openClient(flags)
    const stop = interruption()
    try {
      if (to !== null) {
        const session = await useSession(holdfast, to.session)
        for (const source of sources) await copyIn(session, source, several(to.path), stop.signal)
      }
      for (const { session, path } of from) await copyOut(await findSession(holdfast, session), path, several(target), stop.signal)
    } catch (error) {
      stop.settle(error)
    } finally {
      stop.end()
      process.stdin.destroy()
    }
  })
}
