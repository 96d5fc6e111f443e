/**
 * The pid of an execution inside its sandbox.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import { isHoldfastError } from '@holdfast/protocol'
import type { Executions } from '../executions/executions.ts'

/** `null`: it does not run here, or its sandbox does not answer. */
export async function pidOf(executions: Pick<Executions, 'running'>, executionId: string): Promise<number | null> {
  const running = executions.running(executionId)
  if (running === undefined) return null
  try {
    const { processes } = await running.live.connected()
    return (await processes.list()).find(({ tag }) => tag === executionId)?.pid ?? null
  } catch (error) {
    if (isHoldfastError(error)) return null
    throw error
  }
}
