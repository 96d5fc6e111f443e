/**
 * Chance that can be repeated: the same seed gives the same numbers in [0, 1).
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
export function seededRandom(seed: string): () => number {
  let state = 2166136261
  for (const character of seed) state = Math.imul(state ^ character.charCodeAt(0), 16777619)
  return () => {
    state = Math.imul(state ^ (state >>> 15), 2246822519) + 0x9e3779b9
    const mixed = Math.imul(state ^ (state >>> 13), 3266489917)
    return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32
  }
}
