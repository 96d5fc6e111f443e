/**
 * Colours, where they are wanted: on a terminal, and not against the person's wish.
 */
import { styleText } from 'node:util'
import { clientEnvironment } from '../config.ts'
import type { Surface } from './table.ts'

export type Tint = 'none' | 'bold' | 'dim' | 'green' | 'yellow' | 'red'

export interface Screen {
  readonly isTTY?: boolean
  readonly columns?: number
}

export function surfaceOf(screen: Screen, isPlain: boolean = clientEnvironment().isPlain): Surface {
  const isTerminal = screen.isTTY === true
  const isTinted = isTerminal && !isPlain
  return {
    width: isTerminal ? (screen.columns ?? 0) || 80 : null,
    // Our own `isTinted` has looked at the stream and at NO_COLOR already.
    paint: (tint, text) => (tint === 'none' || !isTinted ? text : styleText(tint, text, { validateStream: false })),
  }
}
