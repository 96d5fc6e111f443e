/**
 * What is started in a directory that is not there: the directory is made inside, and it is started then.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * Looked at only when a start fails, so that it costs nothing where the directory is there.
 */
import { isHoldfastError } from '@holdfast/protocol'
import type { FileTarget, SessionFiles } from '../../../sessions/session-files.ts'

export async function withDirectory<T>(
  files: Pick<SessionFiles, 'stat' | 'makeDirectory'>,
  target: FileTarget,
  directory: string,
  start: () => Promise<T>,
): Promise<T> {
  try {
    return await start()
  } catch (error) {
    if (!isHoldfastError(error, 'command_not_started') || !(await isMissing(files, target, directory))) throw error
  }
  await files.makeDirectory(target, directory, { parents: true })
  return start()
}

async function isMissing(files: Pick<SessionFiles, 'stat'>, target: FileTarget, directory: string): Promise<boolean> {
  try {
    await files.stat(target, directory, { follow: true })
    return false
  } catch (error) {
    if (isHoldfastError(error, 'file_not_found')) return true
    throw error
  }
}
