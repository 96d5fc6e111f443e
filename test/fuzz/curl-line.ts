/**
 * A request as a line that a person can paste into a shell. A key stands there as a variable, named after its holder.
 */
import type { Sent } from './answer.ts'

const SHOWN_BYTES = 4_000

export function curlLine(address: string, { method, target, headers, body }: Sent, keyName: string | null): string {
  const shown = body === null ? [] : ['--data-binary', quoted(Buffer.from(body.subarray(0, SHOWN_BYTES)))]
  return [
    ...['curl -sS -i -g --path-as-is -X', quoted(Buffer.from(method))],
    ...headers.flatMap(([name, value]) => ['-H', header(name, value, keyName)]),
    ...shown,
    quoted(Buffer.from(`${address}${target}`)),
    ...(body !== null && body.length > SHOWN_BYTES ? [`# and ${body.length - SHOWN_BYTES} more bytes of its body`] : []),
  ].join(' ')
}

export function wireLine(port: number, bytes: Uint8Array): string {
  return `printf %b ${quoted(Buffer.from(bytes.subarray(0, SHOWN_BYTES)))} | nc 127.0.0.1 ${port}`
}

function header(name: string, value: string, keyName: string | null): string {
  if (name === 'authorization' && keyName !== null) return `"authorization: Bearer $${keyName.toUpperCase()}_KEY"`
  return quoted(Buffer.from(`${name}: ${value}`, 'latin1'))
}

/** Plain text in plain quotes; anything else in those in which a shell reads octets. */
function quoted(bytes: Buffer): string {
  const text = bytes.toString('latin1')
  if (/^[\x20-\x7e]*$/.test(text)) return `'${text.replaceAll("'", String.raw`'\''`)}'`
  const escaped = [...bytes].map((octet) =>
    octet >= 0x20 && octet < 0x7f && octet !== 0x27 && octet !== 0x5c
      ? String.fromCharCode(octet)
      : `\\x${octet.toString(16).padStart(2, '0')}`,
  )
  return `$'${escaped.join('')}'`
}
