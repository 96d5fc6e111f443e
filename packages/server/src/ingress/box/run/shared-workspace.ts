/**
 * Whether client and server see the same directory: the client put a file into it, and is told what the server finds there.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { BoxError } from '@holdfast/protocol/box'
import type { SharedWorkspaceProof } from '@holdfast/protocol/box'

const MAXIMUM_BYTES = 1024

/** Throws `BoxReadinessError`, whatever is wrong. */
export async function readMarker(directory: string, markerName: string): Promise<SharedWorkspaceProof> {
  try {
    return await read(join(directory, markerName), markerName)
  } catch (cause) {
    throw new BoxError('BoxReadinessError', `the file ${markerName} is not there, or is not a small plain file`, {}, { cause })
  }
}

/** Neither a link nor a pipe is opened and waited for. */
async function read(path: string, markerName: string): Promise<SharedWorkspaceProof> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const status = await file.stat()
    if (!status.isFile() || status.size < 1 || status.size > MAXIMUM_BYTES) throw new RangeError('not a small plain file')
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAXIMUM_BYTES + 1), 0, MAXIMUM_BYTES + 1, 0)
    if (bytesRead < 1 || bytesRead > MAXIMUM_BYTES) throw new RangeError('not a small plain file')
    const content = buffer.subarray(0, bytesRead)
    return { marker_name: markerName, sha256: createHash('sha256').update(content).digest('hex'), size: bytesRead }
  } finally {
    await file.close()
  }
}
