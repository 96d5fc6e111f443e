/** `holdfast completion`: what a shell needs to complete this program's words, made from the program itself. */
import { Argument } from 'commander'
import type { Command } from 'commander'
import { openClient } from '../client.ts'
import { completionScript } from '../completion/scripts.ts'
import type { ShellName } from '../completion/scripts.ts'
import { vocabularyOf } from '../completion/vocabulary.ts'
import { OPEN_STATES } from '../find-session.ts'
import { withServer } from '../flags/server-flags.ts'
import type { ServerFlags } from '../flags/server-flags.ts'
import { write } from '../output/print.ts'
import { printable } from '../output/printable.ts'

const SHELLS: readonly ShellName[] = ['bash', 'zsh', 'fish']
/** Somebody waits with a finger on the key. */
const PATIENCE_MS = 2000
const MOST_SESSIONS = 200

export function addCompletion(program: Command): void {
  program
    .command('completion')
    .description('print a script that completes this program’s words')
    .addArgument(new Argument('<shell>', 'of which shell').choices(SHELLS))
    .addHelpText(
      'after',
      `
Examples:
  source <(holdfast completion bash)
  holdfast completion zsh > "\${fpath[1]}/_holdfast"
  holdfast completion fish > ~/.config/fish/completions/holdfast.fish`,
    )
    .action((shell: ShellName) => write(completionScript(shell, vocabularyOf(program))))

  const answer = program.command('__complete', { hidden: true }).argument('[what]')
  withServer(answer).action(async (_: unknown, flags: ServerFlags) => {
    try {
      const holdfast = await openClient(flags, { timeoutMs: PATIENCE_MS })
      const sessions = await holdfast.sessions
        .list({ state: OPEN_STATES, pageSize: MOST_SESSIONS, timeoutMs: PATIENCE_MS })
        .take(MOST_SESSIONS)
      const lines = sessions.flatMap(({ id, key, state }) => [
        // A key with such characters would need quotes; its id does not.
        ...(/^[\w@%+=,./-]+$/.test(key) ? [`${key}\t${state}`] : []),
        `${id}\t${printable(key)}`,
      ])
      await write(lines.map((line) => `${line}\n`).join(''))
    } catch {
      // Decision: a shell that completes words shows no errors.
    }
  })
}
