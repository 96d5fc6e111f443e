/**
 * What is to be run, as its caller says it.
 */

/** Text is run by `/bin/sh -c`; a list is a program and its arguments, run as it is. */
export type Command = string | readonly string[]

export interface CommandWish {
  /** Absolute; the session's workspace unless given. */
  readonly cwd?: string | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
  /** Refused with `incarnation_changed` when the sandbox is another one by now. */
  readonly expectedIncarnation?: number | undefined
}

export function commandFields(command: Command, { cwd, env, expectedIncarnation }: CommandWish) {
  return {
    ...(typeof command === 'string' ? { command } : { argv: [...command] }),
    ...(cwd === undefined ? {} : { cwd }),
    ...(env === undefined ? {} : { env: { ...env } }),
    ...(expectedIncarnation === undefined ? {} : { expected_incarnation: expectedIncarnation }),
  }
}
