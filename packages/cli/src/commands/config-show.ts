/** `holdfast config show`: every value and where it came from. */
import { loadConfig } from '@holdfast/server'
import { table } from '../table.ts'

export function configShow(options: { readonly effective?: true; readonly output: 'table' | 'json' }): void {
  const settings = loadConfig().shown.filter(({ source }) => options.effective === true || source !== 'default')
  if (options.output === 'json') {
    process.stdout.write(`${JSON.stringify(settings, null, 2)}\n`)
    return
  }
  if (settings.length === 0) {
    process.stdout.write('every setting has its default; `holdfast config show --effective` prints them\n')
    return
  }
  const rows = settings.map(({ name, value, source }) => [name, typeof value === 'string' ? value : JSON.stringify(value), source])
  process.stdout.write(`${table([['SETTING', 'VALUE', 'SOURCE'], ...rows])}\n`)
}
