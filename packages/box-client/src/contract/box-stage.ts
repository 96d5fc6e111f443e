/**
 * A service on a scripted server in memory, with a clock that stands still.
 */
import { createBoxConnector } from '../connector/connector.ts'
import type { BoxConnector } from '../connector/connector.ts'
import { createBoxService } from '../service/service.ts'
import type { BoxService, BoxServiceOptions } from '../service/service.ts'
import { manualClock } from './manual-clock.ts'
import type { ManualClock } from './manual-clock.ts'
import { memoryServer } from './memory-server.ts'
import type { MemoryServer } from './memory-server.ts'
import { CONTEXT } from './script.ts'

export interface BoxStage {
  readonly server: MemoryServer
  readonly clock: ManualClock
  readonly connector: BoxConnector
  readonly service: BoxService
  readonly warned: readonly string[]
}

export const STDIO_TARGET = { command: 'box', args: [], env: {} }

/** Not started. */
export function boxStage(options: Partial<BoxServiceOptions> = {}, isLocal = false): BoxStage {
  const server = memoryServer()
  const clock = manualClock()
  const warned: string[] = []
  const log = { info: () => {}, warn: (message: string) => void warned.push(message) }
  const target = isLocal ? STDIO_TARGET : { endpoint: 'http://box:5410' }
  const settings = options.settings ?? {}
  const connector = createBoxConnector({ target, instance: 'inst-1', settings, clock, log, transport: server.open })
  const service = createBoxService({ connector, context: CONTEXT, clock, log, ...options })
  return { server, clock, connector, service, warned }
}

/** Started. */
export async function connectedStage(options: Partial<BoxServiceOptions> = {}, isLocal = false): Promise<BoxStage> {
  const stage = boxStage(options, isLocal)
  await stage.service.start()
  return stage
}
