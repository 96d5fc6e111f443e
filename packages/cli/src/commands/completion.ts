/** `holdfast completion`: what a shell needs to complete this program's words, made from the program itself. */
import { Argument } from 'commander'
import type { Command } from 'commander'
import { openClient } from '../client.ts'
import { candidates } from '../completion/candidates.ts'
import { completionScript } from '../completion/scripts.ts'
import type { ShellName } from '../completion/scripts.ts'
import { vocabularyOf } from '../completion/vocabulary.ts'
import { withServer } from '../flags/server-flags.ts'
import type { ServerFlags } from '../flags/server-flags.ts'
import { write } from '../output/print.ts'

const SHELLS: readonly ShellName[] = ['bash', 'zsh', 'fish']
/** Somebody waits with a finger on the key. */
const PATIENCE_MS = 2000

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

  const answer = program
    .command('__complete', { hidden: true })
    .argument('[kind]', '', 'sessions')
    .argument('[before]', '', '')
    .argument('[current]', '', '')
    // A word that is being typed may look like a flag.
    .allowUnknownOption()
  withServer(answer).action(async (kind: string, before: string, current: string, flags: ServerFlags) => {
    try {
      const holdfast = await openClient(flags, { timeoutMs: PATIENCE_MS })
      await write((await candidates(holdfast, kind, before, current)).map((line) => `${line}\n`).join(''))
    } catch {
      // Decision: a shell that completes words shows no errors.
    }
  })
}
