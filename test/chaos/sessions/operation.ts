/**
 * One thing a server does, to be cut short at any of its steps.
 */
import type { Aftermath } from './aftermath.ts'
import type { ServerLife } from './server-life.ts'

/** What a server had said before it died: what it was asked for, and what it answered. */
export type Facts = Readonly<Record<string, string | number | boolean>>
export type Say = (facts: Facts) => void

export interface Operation {
  /** Where another server, or an earlier life of this one, has to leave something first: that one dies at its step of this number, or at its end. */
  readonly after?: { readonly operation: string; readonly killAt: number | null; readonly homeName: string }
  /** Several homes make several servers. */
  readonly homeName?: string
  /** Needs a store that several servers share. */
  readonly isShared?: boolean
  /** Only there to come before another one. */
  readonly isOnlyBefore?: boolean
  /** Steps count from the opening of the sessions on. */
  readonly countsRecovery?: boolean
  /** Before the first step that counts. */
  prepare?(life: ServerLife, say: Say, facts: Facts): Promise<void>
  /** Resolves when everything that follows from it is done. */
  act(life: ServerLife, say: Say, facts: Facts): Promise<void>
  /** After a restart: whether what was said holds. */
  check(aftermath: Aftermath): Promise<void>
}
