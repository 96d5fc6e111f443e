/** A server that talks without end: others have their turn, and its own answers are not held up by it for long. */
import { expect, test } from 'vitest'
import { jsonLog } from '../../telemetry/log.ts'
import { shareServer } from './shared-server.ts'

const known = { era: 'legacy', protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'x', version: '1' } } as const

/** Never waits for anything by itself. */
function talking(line: string, most: number) {
  let said = 0
  let turns = 0
  const turn = () => {
    turns += 1
    if (said < most) setImmediate(turn)
  }
  setImmediate(turn)
  const ended = Promise.withResolvers<unknown>()
  const server = shareServer({
    ...{ clientInfo: {}, clock: Date.now, log: jsonLog('error'), onLog: () => {}, known },
    lines: {
      async next() {
        said += 1
        if (said <= most) return Buffer.from(line)
        ended.resolve({ exitCode: 0 })
        return null
      },
      write: async () => {},
      ended: ended.promise,
      close: () => {},
    },
  })
  return { server, turns: () => turns }
}

test.each(['garbage\n', '{"jsonrpc":"2.0","method":"notifications/x"}\n', '{"jsonrpc":"2.0","id":"x","result":{}}\n', '\n'])(
  'what nobody asked for is heard in portions: %j',
  async (line) => {
    const { server, turns } = talking(line, 7_000)
    await server.ended
    // Three times a window was full, and everybody else had a tenth of a second each time.
    expect(turns()).toBeGreaterThan(3)
  },
)
