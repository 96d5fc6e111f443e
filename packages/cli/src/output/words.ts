/**
 * Times and sizes as people read them.
 */

const STEPS = [
  ['d', 86_400],
  ['h', 3600],
  ['m', 60],
  ['s', 1],
] as const

/** `42s`, `5m 12s`, `3h 4m`, `12d 3h`: the two largest units. */
export function durationWords(milliseconds: number): string {
  let rest = Math.max(0, milliseconds) / 1000
  if (rest < 1) return `${Math.round(rest * 1000)}ms`
  const parts: string[] = []
  for (const [unit, seconds] of STEPS) {
    const count = Math.floor(rest / seconds)
    rest -= count * seconds
    if (count > 0) parts.push(`${count}${unit}`)
    else if (parts.length > 0) break
    if (parts.length === 2) break
  }
  return parts.join(' ')
}

/** How long ago, or in how long; `-` for never. */
export function momentWords(time: string | null, now: number): string {
  if (time === null) return '-'
  const difference = Date.parse(time) - now
  const words = durationWords(Math.max(1000, Math.abs(difference)))
  return difference > 0 ? `in ${words}` : `${words} ago`
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const

export function sizeWords(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024
    unit += 1
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`
}

/** `team=a, stage=test`. */
export function assignments(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}=${value}`)
    .join(', ')
}
