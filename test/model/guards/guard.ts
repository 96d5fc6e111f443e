/**
 * A guard in the code of sessions, as text: what stands there, and what would stand there without it.
 */
export interface Guard {
  /** Below `packages/server/src`. */
  readonly file: string
  /** Exactly once in the file. */
  readonly text: string
  readonly without: string
  /**
   * Which run notices that it is gone. `model`: the stories and sequences of one server. `unit`: the tables beside the state machine, for what
   * one server alone does not meet (another server, a clock that was set back, a row as a crash leaves it).
   */
  readonly noticedBy: 'model' | 'unit'
}

export function guardsOf(
  file: string,
  noticedBy: Guard['noticedBy'],
  pairs: readonly (readonly [text: string, without: string])[],
): readonly Guard[] {
  return pairs.map(([text, without]) => ({ file, text, without, noticedBy }))
}
