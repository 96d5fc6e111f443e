/**
 * A value in a header: as it is, or as `=?base64?…?=` where a header cannot carry it.
 *
 * [ingress] → mcp → access → policy → sessions → sandboxes → guest → result
 */
const ENCODED = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/

/** `null`: it says that it is encoded, and is not. */
export function decodedHeader(value: string): string | null {
  if (!value.startsWith('=?base64?') || !value.endsWith('?=')) return value
  const encoded = ENCODED.exec(value)?.[1]
  if (encoded === undefined) return null
  const bytes = Buffer.from(encoded, 'base64')
  if (bytes.toString('base64') !== encoded) return null
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return null
  }
}
