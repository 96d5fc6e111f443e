/**
 * docs/cli.md as something that is run: its list of verbs comes from the program, and what stands under each `$ ` line in a `console`
 * block is what the line prints.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'

export const DOCUMENT = join(import.meta.dirname, '../../../../docs/cli.md')
const LIST = /(<!-- verbs -->\n)[^]*?(<!-- \/verbs -->)/
const BLOCK = /(```console\n)([^]*?)(```)/g

export function readDocument(): string {
  return readFileSync(DOCUMENT, 'utf8')
}

/** With the verbs as the program has them now. */
export function withVerbs(document: string, program: Command): string {
  return document.replace(LIST, (_, start: string, end: string) => `${start}\n${verbTable(program)}\n${end}`)
}

function verbTable(program: Command): string {
  const rows = leaves(program, []).map(({ path, command }) => `| \`${path}\` | ${command.description().replaceAll('|', String.raw`\|`)} |`)
  return ['| Verb | Does |', '|---|---|', ...rows, ''].join('\n')
}

/** Every verb that does something, with the words that lead to it. */
export function leaves(command: Command, path: readonly string[]): readonly { readonly path: string; readonly command: Command }[] {
  const children = command
    .createHelp()
    .visibleCommands(command)
    .filter((child) => child.name() !== 'help')
  if (children.length === 0) return [{ path: path.join(' '), command }]
  return children.flatMap((child) => leaves(child, [...path, child.name()]))
}

/** With what each line prints now; lines are run one after the other. */
export async function withOutputs(document: string, run: (line: string) => Promise<string>): Promise<string> {
  let written = ''
  let end = 0
  for (const block of document.matchAll(BLOCK)) {
    const [whole, open = '', body = '', close = ''] = block
    written += document.slice(end, block.index) + open
    for (const line of body.split('\n').filter((one) => one.startsWith('$ '))) {
      const printed = await run(line.slice(2))
      written += `${line}\n${printed === '' || printed.endsWith('\n') ? printed : `${printed}\n`}`
    }
    written += close
    end = block.index + whole.length
  }
  return written + document.slice(end)
}

/** Without what is different each time: ids, times, sizes of columns. */
export function normalised(document: string): string {
  return document
    .replaceAll(/\b(ses|exe|sbx|key|srv)_[0-9a-z]{8,}/g, '$1_…')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replaceAll(/\b(in )?(\d+(ms|s|m|h|d) ?){1,2}( ago)?/g, 'WHILE ')
    .replaceAll(/hf_[\w-]{20,}/g, 'hf_…')
    .replaceAll(/node v[\d.]+/g, 'node v…')
    .replaceAll(/ +/g, ' ')
    .replaceAll(/ +$/gm, '')
}
