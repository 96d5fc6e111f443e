/**
 * Token buckets by name: so many at once, so many a second after that.
 *
 * ingress → [access] → policy → sessions → sandboxes → guest → result
 *
 * A bucket is two numbers that are brought up to date when somebody asks; there is no timer. Their number is bounded: the longest untouched
 * makes room, and whoever it belonged to begins with a full one.
 */

export interface Rate {
  /** A whole number. */
  readonly perSecond: number
  /** How many at once. */
  readonly burst: number
}

export interface TokenBuckets {
  /** Takes a token. 0: there was one. Otherwise nothing was taken, and one will be there after so many milliseconds. */
  take(name: string): number
  /** What `take` would answer. Takes nothing. */
  wait(name: string): number
  /** Takes a token whether there is one or not: what is owed has to come in first. Nobody owes more than a minute brings. */
  charge(name: string): void
}

export interface TokenBucketsNeeds extends Rate {
  readonly clock: () => number
  /** How many buckets at most. */
  readonly limit: number
}

/** In thousandths, so that whole milliseconds and whole rates give whole numbers and what is said about waiting is exact. */
const TOKEN = 1000
const LONGEST_DEBT_MS = 60_000

interface Bucket {
  level: number
  at: number
}

export function tokenBuckets({ clock, perSecond, burst, limit }: TokenBucketsNeeds): TokenBuckets {
  const buckets = new Map<string, Bucket>()

  function refill(bucket: Bucket): number {
    const now = clock()
    // A clock that was set back gives nothing, and does not take either.
    bucket.level = Math.min(burst * TOKEN, bucket.level + Math.max(0, now - bucket.at) * perSecond)
    bucket.at = now
    return bucket.level >= TOKEN ? 0 : Math.ceil((TOKEN - bucket.level) / perSecond)
  }

  /** Touched now, so the last to make room. */
  function touch(name: string): Bucket {
    let bucket = buckets.get(name)
    if (bucket === undefined) {
      bucket = { level: burst * TOKEN, at: clock() }
      if (buckets.size >= limit) dropOldest(buckets)
    } else buckets.delete(name)
    buckets.set(name, bucket)
    return bucket
  }

  return {
    take(name) {
      const bucket = touch(name)
      const wait = refill(bucket)
      if (wait === 0) bucket.level -= TOKEN
      return wait
    },
    wait(name) {
      const bucket = buckets.get(name)
      return bucket === undefined ? 0 : refill(bucket)
    },
    charge(name) {
      const bucket = touch(name)
      refill(bucket)
      bucket.level = Math.max(bucket.level - TOKEN, -LONGEST_DEBT_MS * perSecond)
    },
  }
}

function dropOldest(buckets: Map<string, Bucket>): void {
  const oldest = buckets.keys().next()
  if (oldest.done !== true) buckets.delete(oldest.value)
}
