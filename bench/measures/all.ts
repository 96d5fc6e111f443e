/** Every measure, in the order of the table. A new one is one file and one line here. */
import type { Measure } from '../measure.ts'
import { box } from './box.ts'
import { bulk } from './bulk.ts'
import { cold } from './cold.ts'
import { echo } from './echo.ts'
import { files } from './files.ts'
import { frontDoor } from './front-door.ts'
import { idle } from './idle.ts'
import { manySessions } from './many-sessions.ts'
import { mcp } from './mcp.ts'
import { parallel } from './parallel.ts'
import { session } from './session.ts'
import { throughput } from './throughput.ts'
import { warm } from './warm.ts'

export const MEASURES: readonly Measure[] = [
  warm,
  session,
  frontDoor,
  box,
  mcp,
  throughput,
  parallel,
  bulk,
  echo,
  cold,
  files,
  idle,
  manySessions,
]
