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

const FIELDS = ['bytes', 'entries', 'hidden'] as const
const SLACK = { bytes: 2 ** 20, share: 1 / 64, entries: 16 }

export function exceeds(usage: Usage, bounds: Usage): boolean {
  return FIELDS.some((field) => usage[field] > bounds[field])
}

/**
 * The bounds, stretched over what is there already: whoever is over may remove, and add next to nothing. That little is needed: a file
 * takes some blocks more when a file system that put this off writes it out, and some programs that remove files make a small one.
 */
export function stretched(bounds: Usage, usage: Usage): Usage {
  const { bytes, entries, hidden } = usage
  return {
    bytes: bytes > bounds.bytes ? bytes + SLACK.bytes + Math.floor(bytes * SLACK.share) : bounds.bytes,
    entries: entries > bounds.entries ? entries + SLACK.entries : bounds.entries,
    hidden: Math.max(hidden, bounds.hidden),
  }
}

/** What was removed is not given back before the bounds are kept again. */
export function lowered(ceiling: Usage, bounds: Usage, usage: Usage): Usage {
  const most = stretched(bounds, usage)
  return {
    bytes: Math.min(ceiling.bytes, most.bytes),
    entries: Math.min(ceiling.entries, most.entries),
    hidden: Math.min(ceiling.hidden, most.hidden),
  }
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
