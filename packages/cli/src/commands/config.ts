/** `holdfast config show`: every setting, its value and where it came from. */
import type { Command } from 'commander'
import { withFormat } from '../flags/output-flags.ts'
import { structured, write } from '../output/print.ts'
import type { Format } from '../output/print.ts'
import { table } from '../output/table.ts'
import { surfaceOf } from '../output/tint.ts'

interface ConfigShowFlags {
  readonly effective?: true
  readonly output: Format
}

export function addConfig(program: Command): void {
  const config = program.command('config').description('the configuration')
  const show = config
    .command('show')
    .description('print every setting that was given, with its value and source')
    .option('--effective', 'print all settings, defaults too')
    .addHelpText(
      'after',
      `
Examples:
  holdfast config show --effective
  HOLDFAST_PORT=8080 holdfast config show`,
    )
  withFormat(show).action(configShow)
}

async function configShow({ effective, output }: ConfigShowFlags): Promise<void> {
  const { loadConfig } = await import('@holdfast/server')
  const settings = loadConfig().shown.filter(({ source }) => effective === true || source !== 'default')
  if (output !== 'table') return write(await structured(settings, output))
  if (settings.length === 0) return write('every setting has its default; `holdfast config show --effective` prints them\n')
  const columns = [
    { title: 'SETTING', of: ({ name }: (typeof settings)[number]) => name },
    {
      title: 'VALUE',
      of: ({ value }: (typeof settings)[number]) => (typeof value === 'string' ? value : JSON.stringify(value)),
      isFlexible: true,
    },
    { title: 'SOURCE', of: ({ source }: (typeof settings)[number]) => source },
  ]
  await write(table(settings, columns, surfaceOf(process.stdout)))
}
