/**
 * Whether a session does what it is for.
 */
import { runCommand, shell } from './actions.ts'
import type { Aftermath } from './aftermath.ts'

/** It runs what it is given, and its workspace can be written. */
export async function checkUsable({ life, expect }: Aftermath, sessionId: string): Promise<void> {
  const end = await runCommand(life, life.caller, sessionId, shell('echo usable > used && cat used && exit 7'))
  expect(end.status === 'completed' && end.exitCode === 7, `the session cannot be used: ${JSON.stringify(end)}`)
}
