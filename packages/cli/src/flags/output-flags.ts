/**
 * How to print it: the same flags on every verb that prints data.
 */
import { Option } from 'commander'
import type { Command } from 'commander'
import { wholeNumber } from './parse.ts'

export interface LimitFlags {
  readonly limit: number
}

export function withOutput(command: Command): Command {
  return command
    .optionsGroup('Output:')
    .addOption(new Option('-o, --output <format>', 'how to print it').choices(['table', 'json', 'yaml']).default('table'))
    .option('-q, --quiet', 'print ids only')
}

/** For what has no ids. */
export function withFormat(command: Command): Command {
  return command
    .optionsGroup('Output:')
    .addOption(new Option('-o, --output <format>', 'how to print it').choices(['table', 'json', 'yaml']).default('table'))
}

export function withLimit(command: Command): Command {
  return command.option('-n, --limit <count>', 'at most so many', wholeNumber(1, 1_000_000), 100)
}
