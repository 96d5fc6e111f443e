/**
 * What a verb found, in the shape that was asked for: a table for people, JSON or YAML for programs, or ids only.
 */
import { once } from 'node:events'
import { printable, printableJson } from './printable.ts'
import { facts, table } from './table.ts'
import type { Column } from './table.ts'
import { surfaceOf } from './tint.ts'
import { wireNames } from './wire-names.ts'

export type Format = 'table' | 'json' | 'yaml'

export interface OutputFlags {
  readonly output: Format
  /** Ids only. */
  readonly quiet?: true
}

export interface Shape<T> {
  readonly columns: readonly Column<T>[]
  idOf(item: T): string
}

/** Waits for a slow reader, so that memory stays bounded. */
export async function write(text: string | Uint8Array, output: NodeJS.WriteStream = process.stdout): Promise<void> {
  if (output.errored) throw output.errored
  if (!output.write(text)) await once(output, 'drain')
}

/** `whole` is what a program is given, where there is more to say than the list. */
export async function printList<T>(
  items: readonly T[],
  { columns, idOf }: Shape<T>,
  flags: OutputFlags,
  whole: unknown = { items },
): Promise<void> {
  if (flags.quiet === true) return write(items.map((item) => `${printable(idOf(item))}\n`).join(''))
  if (flags.output !== 'table') return write(await structured(wireNames(whole), flags.output))
  await write(table(items, columns, surfaceOf(process.stdout)))
}

/** `rows` are what a person is told; a program is given all of it. */
export async function printOne<T>(
  item: T,
  { rows, idOf }: { rows(item: T): readonly (readonly [string, string])[]; idOf(item: T): string },
  flags: OutputFlags,
): Promise<void> {
  if (flags.quiet === true) return write(`${printable(idOf(item))}\n`)
  if (flags.output !== 'table') return write(await structured(wireNames(item), flags.output))
  await write(facts(rows(item), surfaceOf(process.stdout)))
}

/** One of many that come by and by: a line, a JSON line, or a YAML document. */
export async function printPiece<T>(item: T, lineOf: (item: T) => string, flags: OutputFlags): Promise<void> {
  if (flags.output === 'json') return write(`${printableJson(JSON.stringify(wireNames(item)))}\n`)
  if (flags.output === 'yaml') return write(`---\n${await structured(wireNames(item), 'yaml')}`)
  await write(`${printable(lineOf(item))}\n`)
}

export async function structured(value: unknown, format: 'json' | 'yaml'): Promise<string> {
  if (format === 'json') return `${printableJson(JSON.stringify(value, null, 2))}\n`
  const { yamlText } = await import('./yaml-text.ts')
  const options = { lineWidth: 0, aliasDuplicateObjects: false } as const
  const text = yamlText(value, options)
  return printableJson(text) === text ? text : printableJson(yamlText(value, { ...options, defaultStringType: 'QUOTE_DOUBLE' }))
}
