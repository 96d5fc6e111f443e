/**
 * What many runs say in one number. Knows nothing of sandboxes.
 */

/** The value that a share of all samples does not exceed: the nearest rank, so it is always one that was measured. */
export function quantile(samples: readonly number[], share: number): number {
  if (samples.length === 0) throw new RangeError('there is no quantile of no samples')
  if (!(share > 0 && share <= 1)) throw new RangeError(`a quantile lies above 0 and up to 1, not at ${share}`)
  const sorted = samples.toSorted((left, right) => left - right)
  return sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN
}

export function median(samples: readonly number[]): number {
  return quantile(samples, 0.5)
}

/** As many digits as the measurement deserves. */
export function rounded(value: number, digits = 3): number {
  return Number(value.toPrecision(digits))
}
