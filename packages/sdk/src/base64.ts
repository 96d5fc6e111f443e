/**
 * Bytes as base64 and back, with what every runtime has.
 */

/** `fromCharCode` takes its arguments on the stack. */
const AT_ONCE = 0x80_00

export function toBase64(bytes: Uint8Array): string {
  let text = ''
  for (let start = 0; start < bytes.length; start += AT_ONCE) text += String.fromCharCode(...bytes.subarray(start, start + AT_ONCE))
  return btoa(text)
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text)
  const bytes = new Uint8Array(binary.length)
  for (let index = 0; index < binary.length; index += 1) bytes[index] = binary.charCodeAt(index)
  return bytes
}
