/**
 * A file on its way to the server: pieces under a key of its own, each answered before the next is sent.
 */
import { createHash } from 'node:crypto'
import { FILE_CHUNK_BYTES } from '@holdfast/protocol/box'
import { z } from 'zod'
import type { Ask, AskOptions } from './ask.ts'

const Nothing = z.object({})

/** Gives the key under which an action names the file. An empty file is one empty piece. */
export async function sendFile(ask: Ask, bytes: Uint8Array, newId: () => string, options?: AskOptions): Promise<string> {
  const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 16)
  const key = `${digest}-${newId().replaceAll('-', '')}.zip`
  const amount = Math.max(1, Math.ceil(bytes.length / FILE_CHUNK_BYTES))
  for (let index = 0; index < amount; index++) {
    const piece = Buffer.from(bytes.subarray(index * FILE_CHUNK_BYTES, (index + 1) * FILE_CHUNK_BYTES))
    const chunk = { chunk_base64: piece.toString('base64'), chunk_index: index, chunk_amount: amount, chunk_size: piece.length }
    await ask('__file_chunk', Nothing, { file_key: key, file_length: bytes.length, ...chunk }, undefined, options)
  }
  return key
}
