/** Looks for a text in pieces as they come: each piece is searched once, so that reading many megabytes takes linear time. */
export function newlyIncludes(pieces: readonly Buffer[], wanted: string): () => true | undefined {
  const overlap = Buffer.byteLength(wanted) - 1
  let searched = 0
  let tail = Buffer.alloc(0)
  return () => {
    for (const piece of pieces.slice(searched)) {
      tail = Buffer.concat([tail.subarray(Math.max(0, tail.length - overlap)), piece])
      if (tail.includes(wanted)) return true
      searched += 1
    }
    return undefined
  }
}
