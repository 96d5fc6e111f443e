/**
 * What a caller asks to be run, and what of it the guest is told.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import { checkExecRequest } from '../../guest/exec-request.ts'
import type { ExecRequest } from '../../guest/inside.ts'

export interface Command {
  readonly argv: readonly string[]
  readonly cwd?: string | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly stdin?: string | undefined
  /** Absent: it may run for as long as its session. */
  readonly timeoutMs?: number | undefined
}

/** Who a session is inside a sandbox that it shares. */
export interface Inhabitant {
  readonly uid: number
  readonly home: string
  readonly workspace: string
}

/** Throws `invalid_request` for what no sandbox could start, so that none is made for it. */
export function checkCommand(command: Command): void {
  checkExecRequest(execRequest(command, 'exe_0000000000000000', null))
}

export function execRequest({ argv, cwd, env, stdin, timeoutMs }: Command, tag: string, inhabitant: Inhabitant | null): ExecRequest {
  const directory = cwd ?? inhabitant?.workspace
  return {
    argv,
    tag,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(directory === undefined ? {} : { cwd: directory }),
    ...(env === undefined ? {} : { env }),
    ...(stdin === undefined ? {} : { stdin: 'pipe' as const }),
    ...(inhabitant === null ? {} : { uid: inhabitant.uid, home: inhabitant.home }),
  }
}
