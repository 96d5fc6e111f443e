/**
 * From what a person calls an execution to the execution: its id, or the name of a process.
 */
import type { Execution, Session } from '@holdfast/sdk'

const ID = /^exe_[0-9a-z]{8,}$/i

export function isExecutionId(name: string): boolean {
  return ID.test(name)
}

export async function findExecution(session: Session, name: string): Promise<Execution> {
  return isExecutionId(name) ? session.commands.connect(name) : (await session.processes.get(name)).execution
}
