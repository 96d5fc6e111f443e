/**
 * A JSON document of the identity provider: read whole, up to a size and a time.
 *
 * ingress → [access] → policy → sessions → sandboxes → guest → result
 */

const TIMEOUT_MS = 5000
const MAXIMUM_BYTES = 512 * 1024

export type FetchJson = (url: string) => Promise<unknown>

/** Follows no redirect: where the keys come from is decided by the configuration and the issuer's own document, not on the way. */
export const fetchJson: FetchJson = async (url) => {
  const response = await fetch(url, {
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
    headers: { accept: 'application/json' },
  })
  if (response.status !== 200) {
    await response.body?.cancel()
    throw new Error(`${url} answered ${response.status}`)
  }
  const stream: ReadableStream<Uint8Array> | null = response.body
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of stream ?? []) {
    size += chunk.length
    if (size > MAXIMUM_BYTES) throw new Error(`${url} answered more than ${MAXIMUM_BYTES} bytes`)
    chunks.push(chunk)
  }
  return JSON.parse(Buffer.concat(chunks).toString())
}
