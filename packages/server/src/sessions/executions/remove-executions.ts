/**
 * Removes ended executions with their output.
 *
 * Files go first: a crash in between leaves a record without output, never a file that no record names.
 */
import type { Store } from '../../store/store.ts'
import { deleteExecutions } from '../../store/tables/executions.ts'
import { removeOutputFiles } from './output-files.ts'

export interface RemoveExecutionsNeeds {
  readonly store: Store
  readonly outputDirectory: string
}

/** Safe to repeat. */
export async function removeExecutions(
  { store, outputDirectory }: RemoveExecutionsNeeds,
  sessionId: string,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return
  for (const id of ids) await removeOutputFiles({ directory: outputDirectory, id })
  await store.write((transaction) => deleteExecutions(transaction, sessionId, ids), 'process')
}
