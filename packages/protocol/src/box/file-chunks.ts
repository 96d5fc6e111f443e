/**
 * A file on its way to the server: pieces of base64, in order, each its own answered action.
 */
import { z } from 'zod'
import { plainText } from './lax.ts'

export const FILE_CHUNK_BYTES = 16_384

/** One alphanumeric, then up to 254 of alphanumerics and `. _ -`; never two dots together. */
export const FileKey = plainText
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$/, { error: 'must be letters, digits and ". _ -", at most 255' })
  .refine((key) => !key.includes('..'), { error: 'must not contain two dots together' })

const count = z.int({ error: 'must be a whole number' }).min(0, { error: 'must be at least 0' })

export const FileChunk = z
  .object({
    file_key: FileKey,
    file_length: count,
    chunk_base64: plainText.max(Math.ceil(FILE_CHUNK_BYTES / 3) * 4, { error: `must be at most ${FILE_CHUNK_BYTES} bytes` }),
    chunk_index: count,
    chunk_amount: count,
  })
  .refine(({ chunk_index: index, chunk_amount: amount }) => index < amount, {
    path: ['chunk_index'],
    error: 'must be below chunk_amount',
  })
export type FileChunk = z.output<typeof FileChunk>
