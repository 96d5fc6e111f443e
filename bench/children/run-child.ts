/**
 * Runs one of the programs beside this file in a Node of its own.
 *
 * Memory can only be told apart per process; and Node's `spawn` copies the page tables of the process that calls it, so that garbage of an
 * earlier measure would slow the host's side of the next one and flatter ours.
 *
 * The child gets its work as JSON on stdin and answers with JSON on stdout.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Place } from '../ground.ts'

export interface ChildOptions {
  readonly nodeFlags?: readonly string[]
  /** Ends the child; what it leaves behind is its ground's. */
  readonly signal?: AbortSignal
}

/** `Answer` is what the program of that name gives to `answer`. */
export async function runChild<Answer>(
  program: string,
  work: Place & Record<string, unknown>,
  { nodeFlags = [], signal }: ChildOptions = {},
): Promise<Answer> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...nodeFlags, join(import.meta.dirname, program)], {
    stdio: ['pipe', 'pipe', 'inherit'],
    ...(signal === undefined ? {} : { signal }),
  })
  child.stdin.end(JSON.stringify(work))
  const [said] = await Promise.all([text(child.stdout), once(child, 'close')])
  if (child.exitCode !== 0) throw new Error(`${program} ended with ${child.exitCode ?? child.signalCode}`)
  const parsed: Answer = JSON.parse(said)
  return parsed
}

/** For the child's side; `Work` is what the caller of `runChild` gave. */
export async function readWork<Work extends Place>(): Promise<Work> {
  const work: Work = JSON.parse(await text(process.stdin))
  return work
}

export function answer(value: unknown): void {
  process.stdout.write(JSON.stringify(value))
}
