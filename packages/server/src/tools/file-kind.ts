/**
 * What the first bytes of a file say about it: text, an image that a model can look at, or other bytes.
 */
const IMAGE_SIGNS: readonly (readonly [string, readonly (readonly [number, string])[]])[] = [
  ['image/png', [[0, '\x89PNG\r\n\x1a\n']]],
  ['image/jpeg', [[0, '\xff\xd8\xff']]],
  ['image/gif', [[0, 'GIF8']]],
  [
    'image/webp',
    [
      [0, 'RIFF'],
      [8, 'WEBP'],
    ],
  ],
]
/** As many as other tools look at to tell text from binary. */
const LOOKED_AT_BYTES = 8_192

/** `text`, `binary`, or the type of an image. */
export function fileKind(first: Buffer): string {
  const head = first.subarray(0, LOOKED_AT_BYTES)
  const image = IMAGE_SIGNS.find(([, signs]) => signs.every(([at, sign]) => head.toString('latin1', at, at + sign.length) === sign))
  if (image !== undefined) return image[0]
  return head.includes(0) ? 'binary' : 'text'
}
