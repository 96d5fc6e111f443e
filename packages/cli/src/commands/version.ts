/** `holdfast version`: which release this is. */
import type { Command } from 'commander'
import { write } from '../output/print.ts'

export const VERSION = '0.1.0'

export function addVersion(program: Command): void {
  program
    .command('version')
    .description('print the version of this program')
    .addHelpText('after', `\nExample:\n  holdfast version`)
    .action(() => write(`holdfast ${VERSION} (node ${process.version})\n`))
}
