/**
 * The text of a request's body, up to a limit.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'

export const BODY_LIMIT_BYTES = 2 * 1024 * 1024

export async function readBody(request: Request): Promise<string> {
  const announced = request.headers.get('content-length')
  // One that says how long it is can be read whole, which is quicker; one that does not is read as it comes.
  const bytes = announced === null ? await readStream(request.body) : await readWhole(request, Number(announced))
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new HoldfastError('invalid_request', 'the body is not valid UTF-8', {}, { cause })
  }
}

async function readWhole(request: Request, announcedBytes: number): Promise<ArrayBuffer> {
  if (announcedBytes > BODY_LIMIT_BYTES) throw tooLarge()
  const bytes = await request.arrayBuffer()
  if (bytes.byteLength > BODY_LIMIT_BYTES) throw tooLarge()
  return bytes
}

async function readStream(stream: ReadableStream<Uint8Array> | null): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of stream ?? []) {
    size += chunk.length
    if (size > BODY_LIMIT_BYTES) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function tooLarge(): HoldfastError {
  return new HoldfastError('payload_too_large', `the body is larger than ${BODY_LIMIT_BYTES} bytes (2 MiB)`, {
    limit_bytes: BODY_LIMIT_BYTES,
  })
}
