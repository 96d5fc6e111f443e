/**
 * What a caller asks to be run, and what of it the guest is told.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import { checkExecRequest } from '../../guest/exec-request.ts'
import type { ExecRequest, TerminalSize } from '../../guest/inside.ts'
import type { InputKind } from '../../store/tables/execution-input.ts'

export interface Command {
  readonly argv: readonly string[]
  readonly cwd?: string | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
  /** All of its input. */
  readonly stdin?: string | undefined
  /** Its stdin stays open for input that comes later, of which nobody promises an end. */
  readonly interactive?: boolean | undefined
  /** On a terminal of this size, which takes input too. */
  readonly terminal?: TerminalSize | undefined
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

/** What it takes after its start. */
export function inputKindOf({ interactive = false, terminal }: Command): InputKind {
  if (terminal !== undefined) return 'terminal'
  return interactive ? 'open' : 'none'
}

export function execRequest(command: Command, tag: string, inhabitant: Inhabitant | null, tmp: string | null = null): ExecRequest {
  const { argv, cwd, stdin, interactive = false, terminal, timeoutMs } = command
  const directory = cwd ?? inhabitant?.workspace
  const env = tmp === null ? command.env : { TMPDIR: tmp, ...command.env }
  return {
    argv,
    tag,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(directory === undefined ? {} : { cwd: directory }),
    ...(env === undefined ? {} : { env }),
    ...(stdin === undefined && !interactive ? {} : { stdin: 'pipe' as const }),
    ...(terminal === undefined ? {} : { pty: terminal }),
    ...(inhabitant === null ? {} : { uid: inhabitant.uid, home: inhabitant.home }),
  }
}
