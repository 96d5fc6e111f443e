/**
 * What a workspace holds, and what it may hold.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */

export interface Usage {
  /** As the disk holds them: holes cost nothing, a file with several names is one, removed files count while a program has them open. */
  readonly bytes: number
  /** Files, directories and everything else with a name. */
  readonly entries: number
  /** Places that could not be looked into: too deep, or closed to the server. */
  readonly hidden: number
}

export const FIELDS = ['bytes', 'entries', 'hidden'] as const

export function exceeds(usage: Usage, bounds: Usage): boolean {
  return FIELDS.some((field) => usage[field] > bounds[field])
}

/** The bounds, stretched over what is there already: whoever is over may remove, and not add. */
export function stretched(bounds: Usage, usage: Usage): Usage {
  return combined(Math.max, bounds, usage)
}

/** What was removed is not given back before the bounds are kept again. */
export function lowered(ceiling: Usage, bounds: Usage, usage: Usage): Usage {
  return combined(Math.min, ceiling, stretched(bounds, usage))
}

/** For the model, in its next result. */
export function overWords(usage: Usage, bounds: Usage): string {
  const held = [
    ...(usage.bytes > bounds.bytes ? [`${usage.bytes} bytes of ${bounds.bytes} that are allowed`] : []),
    ...(usage.entries > bounds.entries ? [`${usage.entries} entries of ${bounds.entries} that are allowed`] : []),
    ...(usage.hidden > bounds.hidden ? ['directories that are too deep or closed to be measured'] : []),
  ]
  return `The workspace is over its bound: it holds ${held.join(', ')}. Remove files; a command that adds some is stopped.`
}

function combined(choose: (a: number, b: number) => number, one: Usage, other: Usage): Usage {
  return {
    bytes: choose(one.bytes, other.bytes),
    entries: choose(one.entries, other.entries),
    hidden: choose(one.hidden, other.hidden),
  }
}
