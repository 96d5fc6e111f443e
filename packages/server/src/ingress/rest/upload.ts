/**
 * A body that has to be whole before it can be used: kept on disk meanwhile, so that no number of slow senders takes memory.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import { randomId } from '../../home/random-id.ts'

export interface UploadPlace {
  /** Exists; swept at the start. */
  readonly directory: string
  readonly limitBytes: number
}

/** `use` gets the path of a file that is gone afterwards. Throws `payload_too_large` before the rest is read. */
export async function withUpload<T>(place: UploadPlace, body: AsyncIterable<Uint8Array>, use: (path: string) => Promise<T>): Promise<T> {
  const path = join(place.directory, randomId('upload'))
  try {
    await receive(path, body, place.limitBytes)
    return await use(path)
  } finally {
    await rm(path, { force: true })
  }
}

async function receive(path: string, body: AsyncIterable<Uint8Array>, limitBytes: number): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    let size = 0
    for await (const chunk of body) {
      size += chunk.length
      if (size > limitBytes)
        throw new HoldfastError('payload_too_large', `the body is larger than ${limitBytes} bytes`, { limit_bytes: limitBytes })
      await file.writeFile(chunk)
    }
  } finally {
    await file.close()
  }
}
